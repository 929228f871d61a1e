#include "media/codecs/avif_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "media/codecs/test_decode.h"
#include "media/testing/encode_avif.h"
#include "media/testing/metadata.h"

namespace tessera::media {
namespace {

using testing::AvifOptions;
using testing::ByteVector;
using testing::encode_avif;
using testing::gradient;
using testing::Raster;

TEST(AvifCodec, DecodesEveryDepthWithAndWithoutSubsampling) {
  // Longer than two strips, so that their seams show if there are any.
  const auto picture = gradient({70, 150});
  for (const int depth : {8, 10, 12}) {
    for (const bool subsampled : {false, true}) {
      AvifOptions options;
      options.depth = depth;
      options.subsampled = subsampled;

      const auto decoded = decode_for_test(encode_avif(picture, options));

      ASSERT_EQ(decoded.error, MediaError::kNone);
      EXPECT_EQ(decoded.size, picture.size);
      EXPECT_LE(max_difference(decoded.rgb, picture.bytes), 6) << depth << " " << subsampled;
    }
  }
}

TEST(AvifCodec, ColorsAreInterpolatedAcrossTheSeamsOfStrips) {
  // Bands of 32 rows: the colours meet at row 32, inside the first strip, as they do at row 64,
  // where the second begins.
  Raster bands{{16, 128}, {}};
  for (int y = 0; y < 128; ++y) {
    const bool red = (y / 32) % 2 == 0;
    for (int x = 0; x < 16; ++x) {
      bands.bytes.insert(bands.bytes.end(), {red ? std::uint8_t{200} : std::uint8_t{40}, 90,
                                             red ? std::uint8_t{40} : std::uint8_t{200}});
    }
  }
  AvifOptions options;
  options.subsampled = true;

  const auto decoded = decode_for_test(encode_avif(bands, options));

  ASSERT_EQ(decoded.error, MediaError::kNone);
  const auto red_of = [&](std::size_t y) { return int{decoded.rgb[y * 16 * 3]}; };
  // From red to blue at 32 and 96, from blue to red at 64: mirrored.
  EXPECT_NEAR(red_of(31), red_of(64), 3);
  EXPECT_NEAR(red_of(32), red_of(63), 3);
  EXPECT_NEAR(red_of(95), red_of(64), 3);
}

TEST(AvifCodec, BlendsAlphaOverWhite) {
  Raster rgba{{32, 32}, {}};
  for (int i = 0; i < 32 * 32; ++i) rgba.bytes.insert(rgba.bytes.end(), {0, 0, 0, 51});
  AvifOptions options;
  options.has_alpha = true;

  const auto decoded = decode_for_test(encode_avif(rgba, options));

  ASSERT_EQ(decoded.error, MediaError::kNone);
  EXPECT_LE(max_difference(decoded.rgb, filled(32 * 32, 204, 204, 204)), 2);
}

TEST(AvifCodec, TurnsByIrotThenImirAndIgnoresExif) {
  const auto picture = gradient({64, 32});
  // Red grows to the right and green downwards; the corner that comes first tells the turn.
  constexpr int kCorner[4][3] = {{0, 2, 1}, {1, 0, 3}, {3, 1, 2}, {2, 3, 0}};
  for (int turns = 0; turns < 4; ++turns) {
    for (int mirror = -1; mirror <= 1; ++mirror) {
      AvifOptions options;
      options.quarter_turns = turns;
      options.mirror = mirror;
      options.exif = testing::exif_with_orientation(6);

      const auto decoded = decode_for_test(encode_avif(picture, options));

      ASSERT_EQ(decoded.error, MediaError::kNone);
      EXPECT_EQ(decoded.size, turns % 2 == 0 ? (ImageSize{64, 32}) : (ImageSize{32, 64}));
      const int red = decoded.rgb[0] > 128 ? 1 : 0;
      const int green = decoded.rgb[1] > 128 ? 1 : 0;
      EXPECT_EQ(red + 2 * green, kCorner[turns][mirror + 1]) << turns << " " << mirror;
    }
  }
}

TEST(AvifCodec, AppliesProfilesBeforeCodePoints) {
  const Raster raster{{32, 32}, filled(32 * 32, 200, 50, 90)};
  AvifOptions with_icc;
  with_icc.icc = testing::icc_with_red_and_green_swapped();
  with_icc.primaries = 12;
  AvifOptions with_code_points;
  with_code_points.primaries = 12;

  const auto from_icc = decode_for_test(encode_avif(raster, with_icc));
  const auto from_code_points = decode_for_test(encode_avif(raster, with_code_points));

  EXPECT_LE(max_difference(from_icc.rgb, filled(32 * 32, 50, 200, 90)), 4);
  ASSERT_EQ(from_code_points.error, MediaError::kNone);
  EXPECT_GT(from_code_points.rgb[0], 212);  // Display P3's red is redder
}

TEST(AvifCodec, ShowsTheFirstFrameOfASequence) {
  const auto picture = gradient({32, 32});
  AvifOptions options;
  options.n_frames = 3;

  const auto decoded = decode_for_test(encode_avif(picture, options));

  ASSERT_EQ(decoded.error, MediaError::kNone);
  EXPECT_LE(max_difference(decoded.rgb, picture.bytes), 8);
}

TEST(AvifCodec, ACropIsAVariantThatIsRefused) {
  AvifOptions options;
  options.cropped = true;

  EXPECT_EQ(decode_for_test(encode_avif(gradient({32, 32}), options)).error,
            MediaError::kUnsupportedVariant);
}

ByteVector with_extent(std::uint32_t width, std::uint32_t height) {
  auto file = encode_avif(gradient({32, 32}));
  const std::string_view type = "ispe";
  auto at = std::ranges::search(file, type).begin() + 8;
  for (const std::uint32_t side : {width, height}) {
    for (unsigned shift = 32; shift > 0; shift -= 8) {
      *at++ = static_cast<std::uint8_t>(side >> (shift - 8));
    }
  }
  return file;
}

TEST(AvifCodec, HugeExtentsAreRefusedByTheHeader) {
  EXPECT_EQ(decode_for_test(with_extent(10'000, 10'000)).error, MediaError::kPixelsTooMany);
  EXPECT_EQ(decode_for_test(with_extent(20'000, 20'000)).error, MediaError::kSideTooLarge);
  EXPECT_EQ(decode_for_test(with_extent(65'535, 65'535)).error, MediaError::kSideTooLarge);
  EXPECT_EQ(decode_for_test(with_extent(0xFFFFFFFF, 1)).error, MediaError::kSideTooLarge);
  EXPECT_EQ(decode_for_test(with_extent(0, 0)).error, MediaError::kInvalid);
}

TEST(AvifCodec, AnExtentThatTheBitstreamContradictsIsNoWayAroundTheLimits) {
  const auto header = probe_image(with_extent(16, 16), image_limits(Limits{}));

  // Scaled to the extent or refused; never a picture of another size.
  const auto decoded = decode_for_test(with_extent(16, 16));
  if (decoded.error == MediaError::kNone) {
    EXPECT_EQ(decoded.size, header.oriented());
  } else {
    EXPECT_EQ(decoded.error, MediaError::kInvalid);
  }
}

TEST(AvifCodec, EveryTruncationIsAnError) {
  const auto file = encode_avif(gradient({60, 60}));
  for (std::size_t n = 12; n < file.size(); n += 5) {
    const ByteVector cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n));
    ASSERT_EQ(decode_for_test(cut).error, MediaError::kInvalid) << n << " of " << file.size();
  }
}

}  // namespace
}  // namespace tessera::media
