#include "media/codecs/png_codec.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "media/codecs/test_decode.h"
#include "media/testing/encode_images.h"
#include "media/testing/metadata.h"

namespace tessera::media {
namespace {

using testing::ByteVector;
using testing::encode_png;
using testing::gradient;
using testing::PngOptions;
using testing::Raster;

constexpr int kGray = 0;
constexpr int kRgb = 2;
constexpr int kPalette = 3;
constexpr int kGrayAlpha = 4;
constexpr int kRgba = 6;

PngOptions options_of(int color_type, int bit_depth) {
  PngOptions options;
  options.color_type = color_type;
  options.bit_depth = bit_depth;
  return options;
}

ByteVector decode(const Raster& raster, const PngOptions& options) {
  const auto decoded = decode_for_test(encode_png(raster, options));
  EXPECT_EQ(decoded.error, MediaError::kNone);
  return decoded.rgb;
}

TEST(PngCodec, DecodesRgbExactlyPlainAndInterlaced) {
  const auto picture = gradient({37, 23});
  PngOptions options;

  EXPECT_EQ(decode(picture, options), picture.bytes);
  options.interlaced = true;
  EXPECT_EQ(decode(picture, options), picture.bytes);
}

TEST(PngCodec, SpreadsLowBitDepthsOverTheFullRange) {
  //                        1 bit: 0 1       2 bit: 0 1 2 3   4 bit: 0 15
  EXPECT_EQ(decode({{2, 1}, {0b01000000}}, options_of(kGray, 1)),
            (ByteVector{0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(decode({{4, 1}, {0b00011011}}, options_of(kGray, 2)),
            (ByteVector{0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255}));
  EXPECT_EQ(decode({{2, 1}, {0x0F}}, options_of(kGray, 4)), (ByteVector{0, 0, 0, 255, 255, 255}));
}

TEST(PngCodec, RoundsSixteenBitsToEight) {
  // 0x0180 / 257 = 1.494 → 1; 0x0182 / 257 = 1.502 → 2; a cut would give 1 twice.
  EXPECT_EQ(decode({{3, 1}, {0x01, 0x80, 0x01, 0x82, 0xFF, 0xFF}}, options_of(kGray, 16)),
            (ByteVector{1, 1, 1, 2, 2, 2, 255, 255, 255}));
  EXPECT_EQ(decode({{1, 1}, {0x12, 0x12, 0x80, 0x80, 0xFE, 0xFE}}, options_of(kRgb, 16)),
            (ByteVector{0x12, 0x80, 0xFE}));
}

TEST(PngCodec, BlendsAlphaOverWhiteInEveryColorType) {
  EXPECT_EQ(decode({{2, 1}, {0, 0, 0, 51}}, options_of(kGrayAlpha, 8)),
            (ByteVector{255, 255, 255, 204, 204, 204}));
  EXPECT_EQ(decode({{2, 1}, {9, 8, 7, 255, 0, 100, 255, 128}}, options_of(kRgba, 8)),
            (ByteVector{9, 8, 7, 127, 177, 255}));
  EXPECT_EQ(decode({{1, 1}, {0, 0, 0, 0, 0, 0, 0x80, 0x80}}, options_of(kRgba, 16)),
            (ByteVector{127, 127, 127}));
}

TEST(PngCodec, ExpandsPalettesWithTransparency) {
  PngOptions options = options_of(kPalette, 8);
  options.palette_rgb = {255, 0, 0, 0, 255, 0, 0, 0, 255};
  options.palette_alpha = {255, 0};  // the rest is opaque

  EXPECT_EQ(decode({{3, 1}, {0, 1, 2}}, options),
            (ByteVector{255, 0, 0, 255, 255, 255, 0, 0, 255}));

  PngOptions packed = options_of(kPalette, 2);
  packed.palette_rgb = options.palette_rgb;
  EXPECT_EQ(decode({{3, 1}, {0b00011000}}, packed), (ByteVector{255, 0, 0, 0, 255, 0, 0, 0, 255}));
}

TEST(PngCodec, MakesTheTransparentColorWhite) {
  PngOptions gray = options_of(kGray, 8);
  gray.transparent_color = {7};
  PngOptions rgb = options_of(kRgb, 8);
  rgb.transparent_color = {1, 2, 3};
  PngOptions deep = options_of(kGray, 16);
  deep.transparent_color = {0x0102};

  EXPECT_EQ(decode({{2, 1}, {7, 8}}, gray), (ByteVector{255, 255, 255, 8, 8, 8}));
  EXPECT_EQ(decode({{2, 1}, {1, 2, 3, 1, 2, 4}}, rgb), (ByteVector{255, 255, 255, 1, 2, 4}));
  EXPECT_EQ(decode({{2, 1}, {0x01, 0x02, 0x01, 0x01}}, deep), (ByteVector{255, 255, 255, 1, 1, 1}));
}

TEST(PngCodec, AppliesItsProfile) {
  PngOptions options;
  options.icc = testing::icc_with_red_and_green_swapped();
  const Raster raster{{2, 2}, filled(4, 200, 50, 90)};

  EXPECT_LE(max_difference(decode(raster, options), filled(4, 50, 200, 90)), 2);
}

TEST(PngCodec, AppliesAProfileBesideAlpha) {
  PngOptions options = options_of(kRgba, 8);
  options.icc = testing::icc_with_red_and_green_swapped();

  EXPECT_LE(max_difference(decode({{2, 1}, {200, 50, 90, 255, 200, 50, 90, 0}}, options),
                           {50, 200, 90, 255, 255, 255}),
            2);
}

TEST(PngCodec, FollowsOrientationFromExif) {
  PngOptions options;
  options.exif = testing::exif_with_orientation(6);
  const Raster raster{{2, 1}, {1, 1, 1, 2, 2, 2}};

  const auto decoded = decode_for_test(encode_png(raster, options));

  ASSERT_EQ(decoded.error, MediaError::kNone);
  EXPECT_EQ(decoded.size, (ImageSize{1, 2}));
  EXPECT_EQ(decoded.rgb, raster.bytes);
}

TEST(PngCodec, EveryTruncationIsAnError) {
  PngOptions options;
  for (const bool interlaced : {false, true}) {
    options.interlaced = interlaced;
    const auto file = encode_png(gradient({60, 60}), options);
    for (std::size_t n = 8; n < file.size(); ++n) {
      const ByteVector cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n));
      ASSERT_EQ(decode_for_test(cut).error, MediaError::kInvalid) << n << " of " << file.size();
    }
  }
}

TEST(PngCodec, AFlippedBitInThePixelsIsAnError) {
  auto file = encode_png(gradient({60, 60}));
  file[file.size() / 2] ^= 1;

  EXPECT_EQ(decode_for_test(file).error, MediaError::kInvalid);
}

TEST(PngCodec, HugeHeadersAreRefusedByTheHeader) {
  const auto with_side = [](std::uint32_t side) {
    auto file = encode_png(gradient({1, 1}));
    for (const std::size_t at : {16U, 20U}) {
      for (std::size_t i = 0; i < 4; ++i) {
        file[at + i] = static_cast<std::uint8_t>(side >> (24 - 8 * i));
      }
    }
    return decode_for_test(file).error;
  };

  EXPECT_EQ(with_side(10'000), MediaError::kPixelsTooMany);
  EXPECT_EQ(with_side(30'000), MediaError::kSideTooLarge);
  EXPECT_EQ(with_side(50'000), MediaError::kSideTooLarge);
  EXPECT_EQ(with_side(0x7FFFFFFF), MediaError::kSideTooLarge);
  EXPECT_EQ(with_side(0x80000000), MediaError::kInvalid);
  EXPECT_EQ(with_side(0), MediaError::kInvalid);
}

TEST(PngCodec, AnInflatingProfileIsSkippedInsteadOfInflated) {
  PngOptions options;
  options.icc = testing::icc_srgb();
  options.icc.resize(std::size_t{32} << 20U);  // zeros: a few KiB in the file
  const auto n = static_cast<std::uint32_t>(options.icc.size());
  for (std::size_t i = 0; i < 4; ++i) options.icc[i] = static_cast<std::uint8_t>(n >> (24 - 8 * i));
  const Raster raster{{2, 2}, filled(4, 200, 50, 90)};

  EXPECT_EQ(decode(raster, options), raster.bytes);
}

}  // namespace
}  // namespace tessera::media
