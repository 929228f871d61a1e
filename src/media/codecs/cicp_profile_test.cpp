#include "media/codecs/cicp_profile.h"

#include <gtest/gtest.h>

#include <array>

#include "media/codecs/color.h"

namespace tessera::media {
namespace {

using Rgb = std::array<std::uint8_t, 3>;

Rgb to_srgb(int primaries, int transfer, const Rgb& color) {
  const ColorConverter converter(ColorModel::kRgb, cicp_profile(primaries, transfer));
  Rgb result{};
  converter.convert(color.data(), result.data(), 1);
  return result;
}

TEST(CicpProfile, WhatIsSrgbOrUnknownNeedsNone) {
  for (const int transfer : {1, 2, 6, 13, 14, 15, 99}) {
    EXPECT_TRUE(cicp_profile(1, transfer).empty());
    EXPECT_TRUE(cicp_profile(2, transfer).empty());
  }
}

TEST(CicpProfile, DisplayP3IsWiderThanSrgb) {
  // From the two matrices: (200, 100, 50) of Display P3 is (215, 95, 30) of sRGB.
  const Rgb color = to_srgb(12, 13, {200, 100, 50});

  EXPECT_NEAR(color[0], 215, 2);
  EXPECT_NEAR(color[1], 95, 2);
  EXPECT_NEAR(color[2], 30, 3);
  EXPECT_EQ(to_srgb(12, 13, {0, 255, 0})[1], 255);
}

TEST(CicpProfile, GreysKeepTheirHue) {
  for (const int primaries : {5, 6, 7, 9, 12}) {
    const Rgb color = to_srgb(primaries, 13, {128, 128, 128});
    EXPECT_NEAR(color[0], 128, 2);
    EXPECT_NEAR(color[1], 128, 2);
    EXPECT_NEAR(color[2], 128, 2);
  }
}

TEST(CicpProfile, LightThatIsLinearIsShownByTheCurve) {
  EXPECT_NEAR(to_srgb(1, 8, {55, 55, 55})[0], 128, 2);  // 55/255 = 0.216 of the light
}

TEST(CicpProfile, HighDynamicRangeShowsReferenceWhiteAsWhite) {
  // PQ has 203 cd/m² at 0.5807 of the signal, HLG its reference white at 0.75.
  EXPECT_GE(to_srgb(9, 16, {149, 149, 149})[0], 253);
  EXPECT_GE(to_srgb(9, 18, {192, 192, 192})[0], 253);
  EXPECT_EQ(to_srgb(9, 16, {255, 255, 255})[0], 255);
  EXPECT_LT(to_srgb(9, 16, {100, 100, 100})[0], 150);
  EXPECT_LT(to_srgb(9, 18, {100, 100, 100})[0], 170);
}

}  // namespace
}  // namespace tessera::media
