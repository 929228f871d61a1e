#include "media/codecs/webp_codec.h"

#include <gtest/gtest.h>

#include "media/codecs/test_decode.h"
#include "media/testing/encode_images.h"
#include "media/testing/metadata.h"

namespace tessera::media {
namespace {

using testing::ByteVector;
using testing::encode_webp;
using testing::gradient;
using testing::Raster;
using testing::WebpOptions;

TEST(WebpCodec, DecodesLosslessExactlyAndLossyClosely) {
  const auto picture = gradient({37, 23});
  WebpOptions lossy;
  lossy.lossless = false;

  const auto exact = decode_for_test(encode_webp(picture));
  const auto close = decode_for_test(encode_webp(picture, lossy));

  ASSERT_EQ(exact.error, MediaError::kNone);
  EXPECT_EQ(exact.rgb, picture.bytes);
  ASSERT_EQ(close.error, MediaError::kNone);
  EXPECT_LE(max_difference(close.rgb, picture.bytes), 24);
}

TEST(WebpCodec, BlendsAlphaOverWhite) {
  WebpOptions options;
  options.has_alpha = true;
  const Raster raster{{2, 1}, {9, 8, 7, 255, 100, 0, 255, 128}};

  const auto decoded = decode_for_test(encode_webp(raster, options));

  ASSERT_EQ(decoded.error, MediaError::kNone);
  EXPECT_EQ(decoded.rgb, (ByteVector{9, 8, 7, 177, 127, 255}));
}

TEST(WebpCodec, BlendsAlphaOfLossyFiles) {
  WebpOptions options;
  options.has_alpha = true;
  options.lossless = false;
  const Raster raster{{16, 16}, ByteVector(16 * 16 * 4)};  // transparent black

  const auto decoded = decode_for_test(encode_webp(raster, options));

  ASSERT_EQ(decoded.error, MediaError::kNone);
  EXPECT_EQ(decoded.rgb, filled(256, 255, 255, 255));
}

TEST(WebpCodec, AppliesProfileAndOrientation) {
  WebpOptions options;
  options.icc = testing::icc_with_red_and_green_swapped();
  options.exif = testing::exif_with_orientation(8);
  const Raster raster{{2, 1}, {200, 50, 90, 0, 0, 0}};

  const auto decoded = decode_for_test(encode_webp(raster, options));

  ASSERT_EQ(decoded.error, MediaError::kNone);
  EXPECT_EQ(decoded.size, (ImageSize{1, 2}));
  EXPECT_LE(max_difference(decoded.rgb, {0, 0, 0, 50, 200, 90}), 2);
}

TEST(WebpCodec, ShowsTheFirstFrameOfAnAnimationOnItsCanvas) {
  const Raster frame{{1, 2}, {10, 20, 30, 255, 40, 50, 60, 0}};

  const auto decoded = decode_for_test(testing::encode_webp_animation(frame, {3, 4}, 2, 2));

  ASSERT_EQ(decoded.error, MediaError::kNone);
  EXPECT_EQ(decoded.size, (ImageSize{3, 4}));
  auto expected = filled(12, 255, 255, 255);
  const std::size_t at = (2 * 3 + 2) * 3;
  expected[at] = 10;
  expected[at + 1] = 20;
  expected[at + 2] = 30;
  EXPECT_EQ(decoded.rgb, expected);
}

TEST(WebpCodec, CountsFrames) {
  const Raster frame{{2, 2}, ByteVector(16, 255)};
  auto limits = image_limits(Limits{});
  const auto file = testing::encode_webp_animation(frame, {4, 4}, 0, 0, 9);

  EXPECT_EQ(count_frames(file, MediaFormat::kWebp, limits).n_frames, 9);
  EXPECT_EQ(count_frames(encode_webp(gradient({4, 4})), MediaFormat::kWebp, limits).n_frames, 1);
  limits.frames_max = 8;
  EXPECT_EQ(count_frames(file, MediaFormat::kWebp, limits).error, MediaError::kFramesTooMany);
}

TEST(WebpCodec, EveryTruncationIsAnError) {
  const auto file = encode_webp(gradient({60, 60}));
  for (std::size_t n = 12; n < file.size(); ++n) {
    const ByteVector cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n));
    ASSERT_EQ(decode_for_test(cut).error, MediaError::kInvalid) << n << " of " << file.size();
  }
}

TEST(WebpCodec, AHugeCanvasIsRefusedByTheHeader) {
  const Raster frame{{2, 2}, ByteVector(16, 255)};

  EXPECT_EQ(decode_for_test(testing::encode_webp_animation(frame, {16'000, 16'000}, 0, 0)).error,
            MediaError::kPixelsTooMany);
}

}  // namespace
}  // namespace tessera::media
