#include "simulate/quantiles.h"

#include <gtest/gtest.h>

namespace tessera::simulate {
namespace {

TEST(Quantiles, AreWithinAFiftieth) {
  Quantiles quantiles;
  for (int i = 1; i <= 1000; ++i) quantiles.add(i * 0.01);

  EXPECT_EQ(quantiles.count(), 1000U);
  EXPECT_NEAR(quantiles.at(0.5), 5, 0.11);
  EXPECT_NEAR(quantiles.at(0.99), 9.9, 0.2);
  EXPECT_DOUBLE_EQ(quantiles.at(1), 10);
  EXPECT_DOUBLE_EQ(quantiles.largest(), 10);
}

TEST(Quantiles, OfNothingAreZero) {
  EXPECT_EQ(Quantiles().at(0.5), 0);
}

TEST(Quantiles, TakeWhatIsTooSmallOrTooLarge) {
  Quantiles quantiles;
  quantiles.add(0);
  quantiles.add(1e300);

  EXPECT_LE(quantiles.at(0.5), 1e-6);
  EXPECT_GT(quantiles.at(1), 1e7);
}

}  // namespace
}  // namespace tessera::simulate
