#include "media/codecs/color.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "media/testing/metadata.h"

namespace tessera::media {
namespace {

using Rgb = std::array<std::uint8_t, 3>;

Rgb convert(ColorModel model, const std::vector<std::uint8_t>& icc,
            const std::vector<std::uint8_t>& pixel) {
  const ColorConverter converter(model, icc);
  Rgb rgb{};
  converter.convert(pixel.data(), rgb.data(), 1);
  return rgb;
}

void expect_near(const Rgb& actual, const Rgb& expected, int tolerance) {
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance) << "channel " << i;
}

TEST(ColorConverter, WithoutProfilePixelsAreSrgb) {
  EXPECT_EQ(convert(ColorModel::kRgb, {}, {1, 2, 3}), (Rgb{1, 2, 3}));
  EXPECT_EQ(convert(ColorModel::kGray, {}, {77}), (Rgb{77, 77, 77}));
}

TEST(ColorConverter, WithoutProfileCmykInksAreIdeal) {
  EXPECT_EQ(convert(ColorModel::kCmyk, {}, {0, 0, 0, 0}), (Rgb{255, 255, 255}));
  EXPECT_EQ(convert(ColorModel::kCmyk, {}, {255, 0, 0, 0}), (Rgb{0, 255, 255}));
  EXPECT_EQ(convert(ColorModel::kCmyk, {}, {0, 0, 0, 255}), (Rgb{0, 0, 0}));
  EXPECT_EQ(convert(ColorModel::kCmyk, {}, {0, 255, 255, 128}), (Rgb{127, 0, 0}));
}

TEST(ColorConverter, AppliesAnRgbProfile) {
  const auto icc = testing::icc_with_red_and_green_swapped();

  expect_near(convert(ColorModel::kRgb, icc, {200, 50, 90}), {50, 200, 90}, 2);
  expect_near(convert(ColorModel::kRgb, icc, {255, 255, 255}), {255, 255, 255}, 1);
}

TEST(ColorConverter, AppliesAGrayProfile) {
  // Linear 0.5 is 188 in sRGB's curve.
  expect_near(convert(ColorModel::kGray, testing::icc_linear_gray(), {128}), {188, 188, 188}, 2);
}

TEST(ColorConverter, AppliesACmykProfile) {
  const auto icc = testing::icc_black_only_cmyk();

  expect_near(convert(ColorModel::kCmyk, icc, {255, 255, 0, 0}), {255, 255, 255}, 2);
  // L* = 50 is 119 in sRGB.
  expect_near(convert(ColorModel::kCmyk, icc, {0, 0, 0, 128}), {119, 119, 119}, 3);
}

TEST(ColorConverter, LeavesOutAProfileThatIsSrgb) {
  EXPECT_FALSE(ColorConverter(ColorModel::kRgb, testing::icc_srgb()).uses_profile());
}

TEST(ColorConverter, AppliesProfilesThatShareOnlyAPartWithSrgb) {
  // sRGB's curve with other primaries, its primaries with another curve, and neither.
  for (const auto& icc : {testing::icc_with_red_and_green_swapped(), testing::icc_display_p3(),
                          testing::icc_linear_rgb(), testing::icc_adobe_rgb()}) {
    EXPECT_TRUE(ColorConverter(ColorModel::kRgb, icc).uses_profile());
  }
  expect_near(convert(ColorModel::kRgb, testing::icc_linear_rgb(), {55, 55, 55}), {128, 128, 128},
              2);
}

TEST(ColorConverter, TreatsBrokenAndForeignProfilesAsAbsent) {
  auto broken = testing::icc_with_red_and_green_swapped();
  broken.resize(broken.size() / 3);

  EXPECT_EQ(convert(ColorModel::kRgb, broken, {10, 20, 30}), (Rgb{10, 20, 30}));
  EXPECT_EQ(convert(ColorModel::kRgb, {1, 2, 3}, {10, 20, 30}), (Rgb{10, 20, 30}));
  EXPECT_EQ(convert(ColorModel::kRgb, testing::icc_black_only_cmyk(), {10, 20, 30}),
            (Rgb{10, 20, 30}));
  EXPECT_EQ(convert(ColorModel::kGray, testing::icc_with_red_and_green_swapped(), {10}),
            (Rgb{10, 10, 10}));
}

}  // namespace
}  // namespace tessera::media
