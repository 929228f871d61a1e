#include "media/codecs/resample_filter.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

namespace tessera::media {
namespace {

ResampleAxis axis(int n_in, int n_out) {
  return {n_in, n_out, static_cast<double>(n_in)};
}

/// Lengths that meet: halves, thirds, primes, one sample, nearly the same, and the longest side.
const ResampleAxis kAxes[] = {axis(8, 4),    axis(9, 3),   axis(97, 31),     axis(500, 1),
                              axis(100, 99), axis(2, 1),   axis(16'384, 37), axis(1500, 1120),
                              {3, 2, 2.5},   {3, 1, 2.125}};

TEST(FilterTable, WeightsSumToOneWithinTheirRounding) {
  for (const ResampleAxis& each : kAxes) {
    const FilterTable table(each);
    for (int output = 0; output < table.n_out(); ++output) {
      const auto weights = table.span(output).weights;
      const std::int64_t sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
      EXPECT_NEAR(static_cast<double>(sum), 1 << kWeightBits, static_cast<double>(weights.size()));
    }
  }
}

TEST(FilterTable, SumsOfAnyBytesFitTheirType) {
  for (const ResampleAxis& each : kAxes) {
    const FilterTable table(each);
    for (int output = 0; output < table.n_out(); ++output) {
      std::int64_t magnitude = 0;
      for (const std::int32_t weight : table.span(output).weights) magnitude += std::abs(weight);
      EXPECT_LT(magnitude, std::int64_t{2} << kWeightBits);
      EXPECT_LT(magnitude * 255, std::int64_t{1} << 31U);
    }
  }
}

TEST(FilterTable, SpansLieInsideAndFewAreOpenAtOnce) {
  for (const ResampleAxis& each : kAxes) {
    const FilterTable table(each);
    ASSERT_EQ(table.n_out(), each.n_out);
    int taken = 0;
    for (int output = 0; output < table.n_out(); ++output) {
      const auto span = table.span(output);
      EXPECT_GE(span.first, 0);
      EXPECT_LE(span.end(), each.n_in);
      // Rows up to first − 1 have been added when this one opens.
      while (table.span(taken).end() <= span.first) ++taken;
      EXPECT_LE(output - taken + 1, kOpenOutputsMax);
    }
  }
}

TEST(FilterTable, HalvingUsesTheStretchedCubic) {
  // Distances from the centre, in output samples: 0.25, 0.75, 1.25, 1.75 on each side. With
  // a = −0.5 the cubic is 0.8671875, 0.2265625, −0.0703125, −0.0234375; their double is 2.
  const FilterTable table(axis(16, 8));
  const auto span = table.span(4);

  ASSERT_EQ(span.first, 5);
  ASSERT_EQ(span.weights.size(), 8U);
  const double expected[] = {-0.0234375, -0.0703125, 0.2265625, 0.8671875};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(span.weights[i], static_cast<std::int32_t>(expected[i] / 2 * (1 << kWeightBits)));
    EXPECT_EQ(span.weights[i], span.weights[7 - i]);
  }
}

}  // namespace
}  // namespace tessera::media
