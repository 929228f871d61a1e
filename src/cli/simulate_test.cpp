#include "cli/simulate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "metrics/golden_file.h"

namespace tessera::cli {
namespace {

std::string printed(const SimulateOptions& options) {
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run_simulate(options, {out, err}), ExitCode::kOk) << err.str();
  return out.str();
}

SimulateOptions small() {
  SimulateOptions options;
  options.n_requests = 200;
  options.requests_per_second = 0.05;
  return options;
}

TEST(Simulate, PrintsATableForPeople) {
  test_support::expect_matches_file(printed(small()), "src/cli/testdata/simulate_table.txt");
}

TEST(Simulate, PrintsOneObjectForPrograms) {
  SimulateOptions options = small();
  options.json = true;
  options.by_count = true;
  options.seed = 7;

  const auto json = nlohmann::json::parse(printed(options));

  EXPECT_EQ(json["policy"], "count");
  EXPECT_EQ(json["seed"], 7);
  std::uint64_t n_ended = json["refused"];
  for (const auto& kind : json["kinds"]) n_ended += kind["ended"].get<std::uint64_t>();
  EXPECT_EQ(n_ended, 200U);
  EXPECT_GT(json["kinds"]["short_text"]["time_to_first_token_seconds"]["p99"], 0.0);
}

}  // namespace
}  // namespace tessera::cli
