#include "simulate/by_count.h"

#include <gtest/gtest.h>

#include <vector>

#include "simulate/machine.h"

namespace tessera::simulate {
namespace {

TEST(ByCount, TheShortWaitForTheLongOneOfTheirBatch) {
  SimulationOptions options;
  std::vector<SimulatedRequest> requests(3);
  requests[0] = {0, RequestKind::kManyImages, 10, 17, 17, 50};
  requests[1] = {1, RequestKind::kShortText, 10, 0, 0, 4};
  requests[2] = {2, RequestKind::kShortText, 10, 0, 0, 4};

  const SimulationResult result = simulate_by_count(requests, options);

  const double encoding = 17 * options.machine.tile_seconds;
  EXPECT_EQ(result.kinds[0].n_ended, 2U);
  EXPECT_GT(result.kinds[0].first_token.at(0.01), encoding - 2) << "the first batch had one alone";
}

TEST(ByCount, RefusesWhatDoesNotFitItsLine) {
  SimulationOptions options;
  options.n_requests_max = 5;
  std::vector<SimulatedRequest> requests(40);
  for (SimulatedRequest& request : requests) request.n_output_tokens = 2;

  const SimulationResult result = simulate_by_count(requests, options);

  EXPECT_EQ(result.n_refused, 35U);
  EXPECT_EQ(result.kinds[0].n_ended, 5U);
}

}  // namespace
}  // namespace tessera::simulate
