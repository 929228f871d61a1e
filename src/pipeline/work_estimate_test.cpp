#include "pipeline/work_estimate.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::pipeline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ImagePlan image(int n_tiles, int n_cached_tiles) {
  ImagePlan plan;
  plan.source = {1000, 1000};
  plan.n_tiles = n_tiles;
  plan.n_cached_tiles = n_cached_tiles;
  plan.n_patches = 1000 * n_tiles;
  return plan;
}

class WorkEstimateTest : public testing::Test {
 protected:
  WorkEstimateTest() {
    rates_.record(WorkRates::Kind::kMediaPixels, 1e6, milliseconds(50));
    rates_.record(WorkRates::Kind::kPatches, 1000, seconds(2));
    rates_.record(WorkRates::Kind::kPrefillRows, 100, seconds(1));
  }
  WorkEstimate estimate(const std::vector<ImagePlan>& images) {
    return estimate_work(images, 300, rates_);
  }

  WorkRates rates_;
};

TEST_F(WorkEstimateTest, CountsTheTilesThatAreMissing) {
  const WorkEstimate result = estimate({image(4, 1), image(3, 3)});

  EXPECT_DOUBLE_EQ(*result.media_decode, 0.05);
  EXPECT_DOUBLE_EQ(*result.encode, 6);
  EXPECT_DOUBLE_EQ(*result.prefill, 3);
}

TEST_F(WorkEstimateTest, KnowsNothingBeforeItWasMeasured) {
  const WorkEstimate result = estimate_work(std::vector{image(4, 1)}, 300, WorkRates());

  EXPECT_FALSE(result.encode);
}

}  // namespace
}  // namespace tessera::pipeline
