#include "cache/half_floats.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace tessera::cache {
namespace {

TEST(HalfFloats, EveryHalfComesBackAsItself) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const std::array<std::uint16_t, 1> half{static_cast<std::uint16_t>(bits)};
    std::array<float, 1> value{};
    from_half(half, value);
    if (std::isnan(value[0])) continue;  // its payload may be quieted
    std::array<std::uint16_t, 1> back{};
    to_half(value, back);
    ASSERT_EQ(back, half) << bits;
    std::array<float, 1> rounded = value;
    round_to_half(rounded);
    ASSERT_EQ(rounded, value) << bits;
  }
}

TEST(HalfFloats, RoundsToTheNearestAndTiesToEven) {
  std::vector<float> values{1.F + 0x1p-11F, 1.F + 3 * 0x1p-11F, 1.F + 0x1.8p-11F, 0x1p-26F, 0.1F};
  round_to_half(values);

  EXPECT_EQ(values[0], 1.F);
  EXPECT_EQ(values[1], 1.F + 0x1p-9F);
  EXPECT_EQ(values[2], 1.F + 0x1p-10F);
  EXPECT_EQ(values[3], 0.F);
  EXPECT_NEAR(values[4], 0.1F, 0.1F * 0x1p-11F);
}

TEST(HalfFloats, ConvertsAloneAsInALongRow) {
  std::vector<float> row(1003);
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = std::ldexp(std::sin(static_cast<float>(i)), static_cast<int>(i % 30) - 20);
  }
  std::vector<std::uint16_t> halves(row.size());
  to_half(row, halves);
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::array<std::uint16_t, 1> alone{};
    to_half(std::span(row).subspan(i, 1), alone);
    ASSERT_EQ(alone[0], halves[i]) << i;
  }
}

TEST(HalfFloats, SaysWhenAValueDoesNotFit) {
  EXPECT_TRUE(fits_half(std::vector<float>{kHalfMax, -kHalfMax, 0.F}));
  EXPECT_FALSE(fits_half(std::vector<float>{0.F, std::nextafter(kHalfMax, INFINITY)}));
  EXPECT_FALSE(fits_half(std::vector<float>{-INFINITY}));
  EXPECT_FALSE(fits_half(std::vector<float>{std::numeric_limits<float>::quiet_NaN()}));
}

}  // namespace
}  // namespace tessera::cache
