#include "simulate/workload.h"

#include <gtest/gtest.h>

namespace tessera::simulate {
namespace {

TEST(Workload, IsTheSameForTheSameSeed) {
  WorkloadOptions options;
  options.n_requests = 500;
  const auto first = make_workload(options);
  const auto again = make_workload(options);
  options.seed = 2;
  const auto other = make_workload(options);

  int n_different = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].arrival, again[i].arrival);
    EXPECT_EQ(first[i].n_output_tokens, again[i].n_output_tokens);
    n_different += first[i].n_text_tokens != other[i].n_text_tokens ? 1 : 0;
  }
  EXPECT_GT(n_different, 400);
}

TEST(Workload, ComesAtItsRateInItsParts) {
  WorkloadOptions options;
  options.n_requests = 20'000;
  options.requests_per_second = 4;
  const auto requests = make_workload(options);

  EXPECT_NEAR(requests.back().arrival, 5000, 250);
  std::array<int, kKindCount> counts{};
  double before = 0;
  for (const SimulatedRequest& request : requests) {
    EXPECT_GE(request.arrival, before);
    before = request.arrival;
    ++counts[static_cast<std::size_t>(request.kind)];
    EXPECT_GE(request.n_text_tokens, 1);
    EXPECT_GE(request.n_output_tokens, 1);
    EXPECT_LE(request.n_missing, request.n_tiles);
  }
  for (std::size_t i = 0; i < kKindCount; ++i) {
    EXPECT_NEAR(counts[i], options.parts[i] * 200, 300) << i;
  }
}

TEST(Workload, ItsFirstRequestIsThisOne) {
  // A change here changes every seed that anybody has noted.
  const SimulatedRequest first = make_workload({}).front();

  EXPECT_EQ(to_string(first.kind), "short text");
  EXPECT_EQ(first.n_text_tokens, 106);
  EXPECT_EQ(first.n_output_tokens, 30);
}

}  // namespace
}  // namespace tessera::simulate
