#include "media/codecs/decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string_view>

#include "media/codecs/test_decode.h"
#include "media/testing/encode_avif.h"
#include "media/testing/encode_images.h"
#include "media/testing/metadata.h"

namespace tessera::media {
namespace {

using testing::ByteVector;
using testing::gradient;

/// One file of each kind of code path, with metadata where the format has it.
std::vector<ByteVector> every_format() {
  const auto picture = gradient({48, 40});
  const testing::Raster rgba{{12, 10}, ByteVector(480, 100)};
  const testing::Raster indices{{48, 40}, ByteVector(48 * 40, 1)};
  const auto exif = testing::exif_with_orientation(6);
  const auto icc = testing::icc_with_red_and_green_swapped();

  testing::JpegOptions jpeg;
  jpeg.exif = testing::with_exif_prefix(exif);
  jpeg.icc = icc;
  testing::JpegOptions progressive;
  progressive.progressive = true;
  testing::JpegOptions cmyk;
  cmyk.n_channels = 4;
  testing::PngOptions png;
  png.exif = exif;
  png.icc = icc;
  testing::PngOptions interlaced;
  interlaced.interlaced = true;
  testing::WebpOptions webp;
  webp.exif = exif;
  webp.icc = icc;
  testing::WebpOptions lossy;
  lossy.lossless = false;
  testing::GifOptions gif;
  gif.palette_rgb = ByteVector(12, 50);
  gif.transparent = 2;
  testing::GifOptions interlaced_gif = gif;
  interlaced_gif.interlaced = true;

  testing::AvifOptions subsampled_avif;
  subsampled_avif.subsampled = true;
  subsampled_avif.quarter_turns = 1;
  subsampled_avif.icc = icc;

  return {testing::encode_jpeg(picture, jpeg),
          testing::encode_jpeg(picture, progressive),
          testing::encode_jpeg(rgba, cmyk),
          testing::encode_png(picture, png),
          testing::encode_png(picture, interlaced),
          testing::encode_webp(picture, webp),
          testing::encode_webp(picture, lossy),
          testing::encode_webp_animation(rgba, {48, 40}, 4, 6),
          testing::encode_gif(indices, gif),
          testing::encode_gif(indices, interlaced_gif),
          testing::encode_avif(picture),
          testing::encode_avif(picture, subsampled_avif)};
}

TEST(Decoder, DecodesEveryFormat) {
  for (const auto& file : every_format()) {
    EXPECT_EQ(decode_for_test(file).error, MediaError::kNone);
  }
}

TEST(Decoder, RefusesWhatIsNoImage) {
  const std::string_view text = "A text that pretends to be cat.jpg.";

  EXPECT_EQ(decode_for_test(ByteVector(text.begin(), text.end())).error,
            MediaError::kUnsupportedFormat);
  EXPECT_EQ(decode_for_test({}).error, MediaError::kUnsupportedFormat);
}

TEST(Decoder, ChecksLimitsAgainWhenItDecodes) {
  const auto file = testing::encode_png(gradient({20, 10}));
  ByteVector out(20 * 10 * 3);
  auto limits = image_limits(Limits{});
  limits.pixels_max = 199;

  EXPECT_EQ(decode_image(file, limits, {20, 10}, out), MediaError::kPixelsTooMany);
}

TEST(Decoder, RefusesAnOutputThatDoesNotFit) {
  const auto file = testing::encode_png(gradient({20, 10}));
  const auto limits = image_limits(Limits{});
  ByteVector small(20 * 10 * 3 - 1);
  ByteVector fitting(20 * 10 * 3);

  EXPECT_EQ(decode_image(file, limits, {20, 10}, small), MediaError::kWorkerFailed);
  EXPECT_EQ(decode_image(file, limits, {10, 20}, fitting), MediaError::kWorkerFailed);
}

TEST(Decoder, RefusesFramesThatDoNotAscendOrThatAStillHasNot) {
  const auto limits = image_limits(Limits{});
  testing::GifOptions options;
  options.palette_rgb = {0, 0, 0, 255, 255, 255};
  options.n_frames = 3;
  const auto gif = testing::encode_gif({{2, 2}, ByteVector(4)}, options);
  const auto png = testing::encode_png(gradient({2, 2}));
  const auto decode = [&](const ByteVector& file, std::vector<std::uint32_t> frames) {
    ByteVector out(frames.size() * 12);
    return decode_frames(file, limits, {2, 2}, frames, out);
  };

  EXPECT_EQ(decode(gif, {0, 2}), MediaError::kNone);
  EXPECT_EQ(decode(gif, {1, 2}), MediaError::kNone);
  EXPECT_EQ(decode(gif, {}), MediaError::kWorkerFailed);
  EXPECT_EQ(decode(gif, {1, 1}), MediaError::kWorkerFailed);
  EXPECT_EQ(decode(gif, {2, 0}), MediaError::kWorkerFailed);
  EXPECT_EQ(decode(png, {0}), MediaError::kNone);
  EXPECT_EQ(decode(png, {0, 1}), MediaError::kWorkerFailed);
  EXPECT_EQ(count_frames(png, MediaFormat::kPng, limits).n_frames, 1);
}

TEST(Decoder, ReadsNoMetadataAboveItsLimit) {
  testing::PngOptions options;
  options.exif = testing::exif_with_orientation(6);
  options.icc = testing::icc_with_red_and_green_swapped();
  const testing::Raster raster{{2, 1}, {200, 50, 90, 0, 0, 0}};
  auto limits = image_limits(Limits{});
  limits.exif_bytes_max = static_cast<std::uint32_t>(options.exif.size()) - 1;
  limits.icc_bytes_max = static_cast<std::uint32_t>(options.icc.size()) - 1;
  testing::JpegOptions jpeg;
  jpeg.exif = {'E', 'x', 'i', 'f', 0, 0};
  jpeg.exif.insert(jpeg.exif.end(), options.exif.begin(), options.exif.end());
  testing::WebpOptions webp;
  webp.exif = options.exif;
  webp.icc = options.icc;
  for (const auto& file : {testing::encode_png(raster, options), testing::encode_webp(raster, webp),
                           testing::encode_jpeg(raster, jpeg)}) {
    EXPECT_EQ(probe_image(file, image_limits(Limits{})).oriented(), (ImageSize{1, 2}));
    EXPECT_EQ(probe_image(file, limits).oriented(), (ImageSize{2, 1}));
  }
  ByteVector rgb(6);
  ASSERT_EQ(decode_image(testing::encode_webp(raster, webp), limits, {2, 1}, rgb),
            MediaError::kNone);
  EXPECT_EQ(rgb, raster.bytes);
}

TEST(Decoder, RefusesTargetsThatAreLargerThanTheImageOrEmpty) {
  const auto file = testing::encode_png(gradient({20, 10}));
  const auto limits = image_limits(Limits{});
  ByteVector out(21 * 11 * 3);
  for (const ImageSize target : {ImageSize{21, 10}, {20, 11}, {0, 10}, {20, -1}, {0, 0}}) {
    const auto n = static_cast<std::size_t>(std::max<std::int64_t>(target.pixels(), 0)) * 3;
    EXPECT_EQ(decode_image(file, limits, target, std::span(out).first(n)),
              MediaError::kWorkerFailed);
  }
}

TEST(Decoder, DecodesEveryFormatToEverySmallerSize) {
  for (const auto& file : every_format()) {
    const ImageSize whole = decode_for_test(file).size;
    for (const int divisor : {2, 3, 7, 1000}) {
      const ImageSize target{std::max(1, whole.width / divisor), std::max(1, whole.height - 1)};
      EXPECT_EQ(decode_for_test(file, target).error, MediaError::kNone);
      const ImageSize even{std::max(1, whole.width / divisor), std::max(1, whole.height / divisor)};
      EXPECT_EQ(decode_for_test(file, even).error, MediaError::kNone);
    }
  }
}

TEST(Decoder, OneByOneIsAnImage) {
  const auto decoded = decode_for_test(testing::encode_png({{1, 1}, {1, 2, 3}}));

  EXPECT_EQ(decoded.error, MediaError::kNone);
  EXPECT_EQ(decoded.rgb, (ByteVector{1, 2, 3}));
}

TEST(Decoder, StripsBeyondTheAspectLimitAreRefused) {
  EXPECT_EQ(decode_for_test(testing::encode_png(gradient({4000, 1}))).error,
            MediaError::kAspectTooLarge);
  EXPECT_EQ(decode_for_test(testing::encode_png(gradient({1, 4000}))).error,
            MediaError::kAspectTooLarge);
}

TEST(Decoder, SurvivesTruncationOfEveryFormatAtManyLengths) {
  for (const auto& file : every_format()) {
    for (std::size_t n = 0; n < file.size(); n += 64) {
      // A copy of exactly n bytes, so that a sanitizer sees any read behind it.
      const ByteVector cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n));
      EXPECT_NE(decode_for_test(cut).error, MediaError::kWorkerFailed);
    }
  }
}

TEST(Decoder, SurvivesFlippedBytesInEveryFormat) {
  constexpr int kRounds = 200;
  std::mt19937 random(20240229);  // fixed: a failure can be repeated
  for (const auto& file : every_format()) {
    for (int round = 0; round < kRounds; ++round) {
      ByteVector changed = file;
      const int n_flips = 1 + static_cast<int>(random() % 4);
      for (int i = 0; i < n_flips; ++i) {
        // Half of the flips hit the first 128 bytes, where the structure is.
        const std::size_t range =
            i % 2 == 0 ? std::min<std::size_t>(128, file.size()) : file.size();
        changed[random() % range] = static_cast<std::uint8_t>(random());
      }
      const MediaError error = decode_for_test(changed).error;
      EXPECT_TRUE(error != MediaError::kWorkerFailed && error != MediaError::kOutOfMemory)
          << "round " << round << ": " << static_cast<int>(error);
    }
  }
}

TEST(Decoder, SurvivesMetadataOfEveryLength) {
  const auto picture = gradient({8, 8});
  const auto icc = testing::icc_with_red_and_green_swapped();
  for (std::size_t n = 1; n < icc.size(); n += 16) {
    testing::JpegOptions options;
    options.icc = ByteVector(icc.begin(), icc.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_EQ(decode_for_test(testing::encode_jpeg(picture, options)).error, MediaError::kNone);
  }
}

}  // namespace
}  // namespace tessera::media
