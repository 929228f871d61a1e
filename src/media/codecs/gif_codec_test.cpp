#include "media/codecs/gif_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "media/codecs/test_decode.h"
#include "media/testing/encode_images.h"

namespace tessera::media {
namespace {

using testing::ByteVector;
using testing::encode_gif;
using testing::GifOptions;
using testing::Raster;

const ByteVector kPalette{0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255};  // black, red, green, blue

GifOptions with_palette() {
  GifOptions options;
  options.palette_rgb = kPalette;
  return options;
}

/// Stripes: row y has index y % 4.
Raster stripes(ImageSize size) {
  Raster raster{size, {}};
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) raster.bytes.push_back(static_cast<std::uint8_t>(y % 4));
  }
  return raster;
}

ByteVector colors_of(const Raster& raster) {
  ByteVector rgb;
  for (const auto index : raster.bytes) {
    for (std::size_t k = 0; k < 3; ++k) rgb.push_back(kPalette[index * 3U + k]);
  }
  return rgb;
}

TEST(GifCodec, DecodesPlainAndInterlacedWithGlobalAndLocalPalettes) {
  const auto picture = stripes({5, 19});
  for (const bool interlaced : {false, true}) {
    for (const bool local : {false, true}) {
      GifOptions options = with_palette();
      options.interlaced = interlaced;
      options.local_palette = local;

      const auto decoded = decode_for_test(encode_gif(picture, options));

      ASSERT_EQ(decoded.error, MediaError::kNone);
      EXPECT_EQ(decoded.rgb, colors_of(picture));
    }
  }
}

TEST(GifCodec, ShowsTheFirstFrameOnItsCanvasOverWhite) {
  GifOptions options = with_palette();
  options.canvas = {4, 3};
  options.left = 1;
  options.top = 1;
  options.transparent = 2;
  options.n_frames = 3;
  const Raster frame{{2, 1}, {1, 2}};  // red, transparent

  const auto decoded = decode_for_test(encode_gif(frame, options));

  ASSERT_EQ(decoded.error, MediaError::kNone);
  EXPECT_EQ(decoded.size, (ImageSize{4, 3}));
  auto expected = filled(12, 255, 255, 255);
  const std::size_t at = (1 * 4 + 1) * 3;
  expected[at + 1] = 0;
  expected[at + 2] = 0;
  EXPECT_EQ(decoded.rgb, expected);
}

TEST(GifCodec, AHugeCanvasIsRefusedByTheHeader) {
  auto file = encode_gif(stripes({1, 1}), with_palette());
  std::fill_n(file.begin() + 6, 4, std::uint8_t{0xFF});

  EXPECT_EQ(decode_for_test(file).error, MediaError::kSideTooLarge);
}

TEST(GifCodec, AFrameOutsideTheCanvasIsCorrupt) {
  GifOptions options = with_palette();
  options.canvas = {4, 4};
  auto inside = encode_gif(stripes({4, 4}), options);
  auto outside = inside;
  outside[6] = 3;  // canvas width

  EXPECT_EQ(decode_for_test(inside).error, MediaError::kNone);
  EXPECT_EQ(decode_for_test(outside).error, MediaError::kInvalid);
}

TEST(GifCodec, ATruncationInsideTheFirstFrameIsAnError) {
  const auto file = encode_gif(stripes({60, 60}), with_palette());
  // The last bytes are the end of the LZW data, its terminator and the trailer.
  for (std::size_t n = 6; n + 8 < file.size(); ++n) {
    const ByteVector cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n));
    ASSERT_EQ(decode_for_test(cut).error, MediaError::kInvalid) << n << " of " << file.size();
  }
}

TEST(GifCodec, AFileWithoutAnyPaletteIsCorrupt) {
  auto file = encode_gif(stripes({2, 2}), with_palette());
  file[10] &= 0x7F;                                       // no global palette
  file.erase(file.begin() + 13, file.begin() + 13 + 12);  // and none in the file

  EXPECT_EQ(decode_for_test(file).error, MediaError::kInvalid);
}

TEST(GifCodec, CountsWholeFramesOnly) {
  GifOptions options = with_palette();
  options.n_frames = 4;
  const auto limits = image_limits(Limits{});
  const auto file = encode_gif(stripes({30, 30}), options);
  const ByteVector cut(file.begin(), file.end() - 4);
  ByteVector none(file.begin(), file.begin() + 20);

  EXPECT_EQ(count_gif_frames(file, limits), 4);
  EXPECT_EQ(count_gif_frames(cut, limits), 3);
  EXPECT_EQ(count_gif_frames(none, limits), 0);
}

TEST(GifCodec, StopsCountingAboveTheLimit) {
  GifOptions options = with_palette();
  options.n_frames = 50;
  auto limits = image_limits(Limits{});
  limits.frames_max = 10;
  const auto file = encode_gif(stripes({2, 2}), options);

  EXPECT_EQ(count_gif_frames(file, limits), 11);
  EXPECT_EQ(count_frames(file, MediaFormat::kGif, limits).error, MediaError::kFramesTooMany);
}

TEST(GifCodec, AnAskedFrameThatIsMissingIsAnError) {
  const auto limits = image_limits(Limits{});
  const auto file = encode_gif(stripes({2, 2}), with_palette());
  ByteVector out(2 * 2 * 2 * 3);
  constexpr std::array<std::uint32_t, 2> kFrames{0, 1};

  EXPECT_EQ(decode_frames(file, limits, {2, 2}, kFrames, out), MediaError::kInvalid);
}

}  // namespace
}  // namespace tessera::media
