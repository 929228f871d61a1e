#include "pipeline/work_rates.h"

#include <gtest/gtest.h>

namespace tessera::pipeline {
namespace {

using Kind = WorkRates::Kind;
using std::chrono::milliseconds;

TEST(WorkRates, KnowNothingBeforeTheFirstMeasurementButThatNoWorkTakesNoTime) {
  const WorkRates rates;
  EXPECT_FALSE(rates.seconds(Kind::kPatches, 10));
  EXPECT_EQ(rates.seconds(Kind::kPatches, 0), 0);
}

TEST(WorkRates, ScaleWithTheWorkOfEachKind) {
  WorkRates rates;
  rates.record(Kind::kPatches, 100, milliseconds(500));
  rates.record(Kind::kPrefillRows, 10, milliseconds(10));
  rates.record(Kind::kPrefillRows, 0, milliseconds(99));  // says nothing
  EXPECT_NEAR(*rates.seconds(Kind::kPatches, 40), 0.2, 1e-9);
  EXPECT_NEAR(*rates.seconds(Kind::kPrefillRows, 40), 0.04, 1e-9);
  EXPECT_FALSE(rates.seconds(Kind::kMediaPixels, 1));
}

TEST(WorkRates, FollowAMachineThatBecameSlower) {
  WorkRates rates;
  rates.record(Kind::kPatches, 100, milliseconds(100));
  for (int i = 0; i < 40; ++i) rates.record(Kind::kPatches, 100, milliseconds(300));
  EXPECT_NEAR(*rates.seconds(Kind::kPatches, 100), 0.3, 0.005);
}

}  // namespace
}  // namespace tessera::pipeline
