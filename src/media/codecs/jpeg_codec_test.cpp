#include "media/codecs/jpeg_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "media/codecs/test_decode.h"
#include "media/testing/encode_images.h"
#include "media/testing/metadata.h"

namespace tessera::media {
namespace {

using testing::ByteVector;
using testing::encode_jpeg;
using testing::gradient;
using testing::JpegOptions;
using testing::Raster;

Raster cmyk_of(std::uint8_t c, std::uint8_t m, std::uint8_t y, std::uint8_t k) {
  Raster raster{{16, 16}, {}};
  for (int i = 0; i < 256; ++i) raster.bytes.insert(raster.bytes.end(), {c, m, y, k});
  return raster;
}

TEST(JpegCodec, DecodesBaselineAndProgressive) {
  const auto picture = gradient({64, 48});
  for (const bool progressive : {false, true}) {
    JpegOptions options;
    options.progressive = progressive;

    const auto decoded = decode_for_test(encode_jpeg(picture, options));

    ASSERT_EQ(decoded.error, MediaError::kNone);
    EXPECT_EQ(decoded.size, picture.size);
    EXPECT_LE(max_difference(decoded.rgb, picture.bytes), 12);
  }
}

TEST(JpegCodec, DecodesGray) {
  Raster gray{{16, 16}, ByteVector(256, 99)};
  JpegOptions options;
  options.n_channels = 1;

  const auto decoded = decode_for_test(encode_jpeg(gray, options));

  ASSERT_EQ(decoded.error, MediaError::kNone);
  EXPECT_LE(max_difference(decoded.rgb, filled(256, 99, 99, 99)), 1);
}

TEST(JpegCodec, InvertsAdobeCmykAndYcck) {
  JpegOptions options;
  options.n_channels = 4;
  // Adobe stores 255 − ink: this is full cyan, half black.
  const auto stored = cmyk_of(0, 255, 255, 127);
  for (const bool ycck : {false, true}) {
    options.ycck = ycck;

    const auto decoded = decode_for_test(encode_jpeg(stored, options));

    ASSERT_EQ(decoded.error, MediaError::kNone);
    EXPECT_LE(max_difference(decoded.rgb, filled(256, 0, 127, 127)), 4);
  }
}

TEST(JpegCodec, TakesCmykWithoutAdobesMarkerAsInk) {
  JpegOptions options;
  options.n_channels = 4;
  options.adobe_marker = false;

  const auto decoded = decode_for_test(encode_jpeg(cmyk_of(255, 0, 0, 0), options));

  ASSERT_EQ(decoded.error, MediaError::kNone);
  EXPECT_LE(max_difference(decoded.rgb, filled(256, 0, 255, 255)), 4);
}

TEST(JpegCodec, AppliesProfilesOfRgbAndCmyk) {
  JpegOptions rgb_options;
  rgb_options.icc = testing::icc_with_red_and_green_swapped();
  Raster rgb{{16, 16}, filled(256, 200, 50, 90)};
  JpegOptions cmyk_options;
  cmyk_options.n_channels = 4;
  cmyk_options.icc = testing::icc_black_only_cmyk();

  const auto from_rgb = decode_for_test(encode_jpeg(rgb, rgb_options));
  const auto from_cmyk = decode_for_test(encode_jpeg(cmyk_of(0, 0, 0, 127), cmyk_options));

  EXPECT_LE(max_difference(from_rgb.rgb, filled(256, 50, 200, 90)), 6);
  EXPECT_LE(max_difference(from_cmyk.rgb, filled(256, 119, 119, 119)), 6);
}

TEST(JpegCodec, FollowsAllEightOrientations) {
  const auto picture = gradient({64, 32});
  for (int value = 1; value <= 8; ++value) {
    JpegOptions options;
    options.exif = testing::with_exif_prefix(testing::exif_with_orientation(value, value % 2 == 0));

    const auto decoded = decode_for_test(encode_jpeg(picture, options));

    ASSERT_EQ(decoded.error, MediaError::kNone);
    EXPECT_EQ(decoded.size, value < 5 ? (ImageSize{64, 32}) : (ImageSize{32, 64}));
    // Red grows to the right and green downwards in what was stored. Where the first pixel shows
    // the stored corner tells the orientation.
    const int red = decoded.rgb[0] > 128 ? 1 : 0;
    const int green = decoded.rgb[1] > 128 ? 1 : 0;
    constexpr int kCorner[9] = {0, 0, 1, 3, 2, 0, 2, 3, 1};  // 1 = right, 2 = bottom
    EXPECT_EQ(red + 2 * green, kCorner[value]) << "orientation " << value;
  }
}

/// Largest and mean difference from the whole picture, decoded and then resampled.
std::pair<int, double> scaled_difference(const ByteVector& file, ImageSize target) {
  const auto whole = decode_for_test(file);
  const auto scaled = decode_for_test(file, target);
  std::vector<std::uint8_t> expected(rgb_bytes(target));
  PixelWriter writer(whole.size, Orientation::kUpright, target, expected);
  writer.begin({ColorModel::kRgb, false}, {});
  for (std::ptrdiff_t y = 0; y < whole.size.height; ++y) {
    writer.write_row(whole.rgb.data() + y * whole.size.width * 3);
  }
  double sum = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) sum += std::abs(expected[i] - scaled.rgb[i]);
  return {max_difference(expected, scaled.rgb), sum / static_cast<double>(expected.size())};
}

TEST(JpegCodec, AScaledDecodeShowsTheSamePictureInTheSamePlace) {
  // Odd sides: the last scaled pixel is cut, and a shift by half of one would show on the ramp.
  for (const bool progressive : {false, true}) {
    JpegOptions options;
    options.progressive = progressive;
    const auto file = encode_jpeg(gradient({203, 149}), options);
    for (const ImageSize target : {ImageSize{101, 74}, {67, 49}, {40, 31}, {25, 18}, {101, 149}}) {
      const auto [largest, mean] = scaled_difference(file, target);
      EXPECT_LE(largest, 6) << target.width << "×" << target.height;
      EXPECT_LE(mean, 1.0) << target.width << "×" << target.height;
    }
  }
}

TEST(JpegCodec, EveryTruncationIsAnErrorAndNoGreyPicture) {
  for (const bool progressive : {false, true}) {
    JpegOptions options;
    options.progressive = progressive;
    const auto file = encode_jpeg(gradient({80, 80}), options);
    for (std::size_t n = 3; n < file.size(); n += 7) {
      const ByteVector cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n));
      EXPECT_EQ(decode_for_test(cut).error, MediaError::kInvalid) << n << " of " << file.size();
    }
  }
}

TEST(JpegCodec, ATruncationWithAnEndMarkerPastedOnIsAnErrorToo) {
  const auto file = encode_jpeg(gradient({200, 200}));
  ByteVector cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(file.size() * 3 / 4));
  cut.insert(cut.end(), {0xFF, 0xD9});

  EXPECT_EQ(decode_for_test(cut).error, MediaError::kInvalid);
}

TEST(JpegCodec, AFrameHeaderPatchedToAHugeSizeIsRefusedByTheHeader) {
  auto file = encode_jpeg(gradient({16, 16}));
  const ByteVector frame{0xFF, 0xC0};
  const auto at = std::ranges::search(file, frame).begin();
  std::fill_n(at + 5, 4, std::uint8_t{0xFF});  // 65535 × 65535

  EXPECT_EQ(decode_for_test(file).error, MediaError::kSideTooLarge);
}

TEST(JpegCodec, RepeatedScansAreRefusedBeforeDecoding) {
  JpegOptions options;
  options.progressive = true;
  auto file = encode_jpeg(gradient({64, 64}), options);
  const ByteVector scan_marker{0xFF, 0xDA};
  const auto last = std::ranges::find_end(file, scan_marker).begin();
  const ByteVector scan(last, file.end() - 2);
  for (int i = 0; i < 30; ++i) file.insert(file.end() - 2, scan.begin(), scan.end());

  const auto header = probe_image(file, image_limits(Limits{}));

  EXPECT_EQ(header.error, MediaError::kScansTooMany);
  EXPECT_EQ(header.n_scans, 40);
}

}  // namespace
}  // namespace tessera::media
