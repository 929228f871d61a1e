// "Correct pixels": files of every kind, decoded by us and by Pillow, at their own size and at
// smaller ones.
//
// Tolerances, in steps of 255: `exact` is how far any byte may be off where both do the same
// arithmetic on the same pixels; scaled JPEGs are made by smaller transforms instead, and are held
// to a mean and a largest difference.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>

#include "media/codecs/test_decode.h"
#include "media/testing/encode_avif.h"
#include "media/testing/encode_images.h"
#include "media/testing/metadata.h"
#include "pixels/reference.h"

namespace tessera::pixels {
namespace {

using media::Decoded;
using media::MediaError;
using media::testing::ByteVector;
using media::testing::Raster;
namespace testing = media::testing;

constexpr ImageSize kSize{122, 90};

/// A scaled transform looks at blocks one by one, a resampler across their borders.
constexpr double kScaledMeanMax = 2.0;
constexpr int kScaledMax = 24;

struct Case {
  std::string name;
  ByteVector file;
  int exact = 0;
  bool is_jpeg = false;
  ByteVector same_as = {};  // what Pillow reads when it cannot read the file itself
  double mean = 256;
};

/// Waves of several lengths, an edge and a little noise, in n channels.
Raster picture(std::size_t n_channels, ImageSize size = kSize) {
  std::mt19937 random(11);
  Raster raster{size, {}};
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (std::size_t k = 0; k < n_channels; ++k) {
        const auto phase = static_cast<double>(k);
        double value = 120 + 50 * std::sin(x / 9.0 + phase) + 40 * std::cos(y / 7.0 - phase);
        if (x > 2 * y) value += 30;
        value += static_cast<double>(random() % 7);
        raster.bytes.push_back(static_cast<std::uint8_t>(std::min(255.0, std::max(0.0, value))));
      }
    }
  }
  return raster;
}

/// Samples of 16 bits whose low bytes are noise: cutting and rounding differ.
Raster deep_picture(std::size_t n_channels) {
  Raster raster = picture(n_channels * 2);
  std::mt19937 random(12);
  for (std::size_t i = 1; i < raster.bytes.size(); i += 2) {
    raster.bytes[i] = static_cast<std::uint8_t>(random());
  }
  return raster;
}

/// Pictures are upright here, or turned: half, a third, sides that fit nothing, one axis only.
std::vector<ImageSize> targets_of(ImageSize whole) {
  return {whole,
          {whole.width / 2, whole.height / 2},
          {whole.width / 3, whole.height / 3},
          {whole.width * 5 / 7, whole.height * 3 / 5},
          {std::min(whole.width, 17), 13},
          {whole.width, 11},
          {1, 1}};
}

struct Difference {
  int largest = 0;
  double mean = 0;
};

Difference difference(const ByteVector& a, const ByteVector& b) {
  Difference result{media::max_difference(a, b), 0};
  if (a.size() != b.size()) return {256, 256};
  for (std::size_t i = 0; i < a.size(); ++i) result.mean += std::abs(a[i] - b[i]);
  result.mean /= static_cast<double>(a.size());
  return result;
}

/// A JPEG whose target is half of it or less is decoded by a smaller transform.
bool is_scaled(const Case& each, ImageSize whole, ImageSize target) {
  return each.is_jpeg && target.width * 2 <= whole.width + 1 &&
         target.height * 2 <= whole.height + 1;
}

void expect_reference(const std::vector<Case>& cases) {
  std::vector<Wanted> wanted;
  std::vector<Decoded> ours;
  std::vector<std::pair<const Case*, ImageSize>> places;
  for (const Case& each : cases) {
    const Decoded whole = media::decode_for_test(each.file);
    ASSERT_EQ(whole.error, MediaError::kNone) << each.name;
    for (const ImageSize target : targets_of(whole.size)) {
      ours.push_back(media::decode_for_test(each.file, target));
      wanted.push_back({each.same_as.empty() ? each.file : each.same_as, target});
      places.emplace_back(&each, whole.size);
    }
  }
  const auto expected = reference_pixels(wanted);
  ASSERT_EQ(expected.size(), ours.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto& [each, whole] = places[i];
    const ImageSize target = wanted[i].target;
    SCOPED_TRACE(each->name + " at " + std::to_string(target.width) + "×" +
                 std::to_string(target.height));
    const Difference found = difference(ours[i].rgb, expected[i]);
    if (is_scaled(*each, whole, target)) {
      EXPECT_LE(found.largest, kScaledMax);
      // Of a handful of pixels there is no mean.
      if (target.pixels() > 100) EXPECT_LE(found.mean, kScaledMeanMax);
    } else {
      EXPECT_LE(found.largest, each->exact);
      EXPECT_LE(found.mean, each->mean);
    }
  }
}

TEST(Pixels, PngOfEveryDepthEqualsTheReference) {
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, const Raster& raster, testing::PngOptions options,
                       int exact) {
    for (const bool interlaced : {false, true}) {
      options.interlaced = interlaced;
      cases.push_back(
          {name + (interlaced ? " interlaced" : ""), encode_png(raster, options), exact});
    }
  };
  const auto options = [](int color_type, int bit_depth) {
    testing::PngOptions result;
    result.color_type = color_type;
    result.bit_depth = bit_depth;
    return result;
  };
  add("rgb", picture(3), options(2, 8), 0);
  add("grey", picture(1), options(0, 8), 0);
  // A row of packed samples is as long as one of bytes, divided.
  add("grey 1 bit", picture(1, {16, 90}), options(0, 1), 0);
  add("grey 4 bit", picture(1), options(0, 4), 0);
  add("grey + alpha", picture(2), options(4, 8), 1);
  add("rgb + alpha", picture(4), options(6, 8), 1);
  // Pillow cuts 16-bit colour to its high byte, we round; two passes can make two of that one.
  add("grey 16 bit", deep_picture(1), options(0, 16), 0);
  add("rgb 16 bit", deep_picture(3), options(2, 16), 2);

  expect_reference(cases);
}

TEST(Pixels, PalettesAndTransparentColorsEqualTheReference) {
  testing::PngOptions palette;
  palette.color_type = 3;
  for (int i = 0; i < 256 * 3; ++i) {
    palette.palette_rgb.push_back(static_cast<std::uint8_t>(i * 37));
  }
  testing::PngOptions with_alpha = palette;
  for (int i = 0; i < 200; ++i) {
    with_alpha.palette_alpha.push_back(static_cast<std::uint8_t>(i * 11));
  }
  testing::PngOptions four_bits = palette;
  four_bits.bit_depth = 4;
  four_bits.palette_rgb.resize(std::size_t{16} * 3);
  four_bits.palette_alpha = {0, 99};
  testing::PngOptions transparent_gray;
  transparent_gray.color_type = 0;
  transparent_gray.transparent_color = {121};

  expect_reference({{"palette", encode_png(picture(1), palette)},
                    {"palette + tRNS", encode_png(picture(1), with_alpha), 1},
                    {"palette of 4 bits + tRNS", encode_png(picture(1), four_bits), 1},
                    {"grey + tRNS", encode_png(picture(1), transparent_gray), 0}});
}

TEST(Pixels, JpegOfEveryColorModelEqualsTheReference) {
  const auto with = [](int n_channels, bool progressive, bool ycck) {
    testing::JpegOptions options;
    options.n_channels = n_channels;
    options.progressive = progressive;
    options.ycck = ycck;
    options.quality = 90;
    return encode_jpeg(picture(static_cast<std::size_t>(n_channels)), options);
  };
  expect_reference({{"rgb", with(3, false, false), 0, true},
                    {"rgb progressive", with(3, true, false), 0, true},
                    {"grey", with(1, false, false), 0, true},
                    {"cmyk", with(4, false, false), 1, true},
                    {"ycck", with(4, true, true), 1, true}});
}

TEST(Pixels, EveryOrientationEqualsTheReference) {
  std::vector<Case> cases;
  for (int value = 1; value <= 8; ++value) {
    const ByteVector exif = testing::exif_with_orientation(value);
    const std::string name = "orientation " + std::to_string(value);
    testing::PngOptions png;
    png.exif = exif;
    cases.push_back({name + " png", encode_png(picture(3), png), 0});
    testing::JpegOptions jpeg;
    jpeg.exif = testing::with_exif_prefix(exif);
    cases.push_back({name + " jpeg", encode_jpeg(picture(3), jpeg), 0, true});
    testing::WebpOptions webp;
    webp.exif = exif;
    cases.push_back({name + " webp", encode_webp(picture(3), webp), 0});
  }

  expect_reference(cases);
}

TEST(Pixels, ProfilesEqualTheReference) {
  std::vector<Case> cases;
  const std::pair<const char*, ByteVector> profiles[] = {
      {"Display P3", testing::icc_display_p3()},
      {"Adobe RGB", testing::icc_adobe_rgb()},
      {"swapped", testing::icc_with_red_and_green_swapped()}};
  for (const auto& [name, icc] : profiles) {
    testing::PngOptions png;
    png.icc = icc;
    cases.push_back({std::string(name) + " png", encode_png(picture(3), png), 1});
    testing::JpegOptions jpeg;
    jpeg.icc = icc;
    cases.push_back({std::string(name) + " jpeg", encode_jpeg(picture(3), jpeg), 1, true});
    testing::WebpOptions webp;
    webp.icc = icc;
    cases.push_back({std::string(name) + " webp", encode_webp(picture(3), webp), 1});
  }
  testing::JpegOptions gray;
  gray.n_channels = 1;
  gray.icc = testing::icc_linear_gray();
  cases.push_back({"linear grey", encode_jpeg(picture(1), gray), 1, true});
  testing::JpegOptions cmyk;
  cmyk.n_channels = 4;
  cmyk.icc = testing::icc_black_only_cmyk();
  cases.push_back({"cmyk", encode_jpeg(picture(4), cmyk), 1, true});

  expect_reference(cases);
}

TEST(Pixels, WebpEqualsTheReference) {
  expect_reference(
      {{"lossless", encode_webp(picture(3), {.exif = {}, .icc = {}}), 0},
       {"lossy", encode_webp(picture(3), {.lossless = false, .exif = {}, .icc = {}}), 0},
       {"lossless + alpha", encode_webp(picture(4), {.has_alpha = true, .exif = {}, .icc = {}}), 1},
       {"lossy + alpha",
        encode_webp(picture(4), {.lossless = false, .has_alpha = true, .exif = {}, .icc = {}}),
        1}});
}

TEST(Pixels, TheFirstFrameOfAGifEqualsTheReference) {
  Raster indices = picture(1);
  for (auto& value : indices.bytes) value /= 16;
  testing::GifOptions plain;
  for (int i = 0; i < 16 * 3; ++i) plain.palette_rgb.push_back(static_cast<std::uint8_t>(i * 53));
  plain.n_frames = 3;
  testing::GifOptions transparent = plain;
  transparent.transparent = 7;
  testing::GifOptions interlaced = plain;
  interlaced.interlaced = true;
  interlaced.local_palette = true;

  expect_reference({{"plain", encode_gif(indices, plain), 0},
                    {"transparent", encode_gif(indices, transparent), 0},
                    {"interlaced", encode_gif(indices, interlaced), 0}});
}

/// Every frame of an animation, one file at a time: at its own size and at a smaller one.
void expect_frames(const std::string& name, const ByteVector& file, int n_frames, int exact) {
  const auto limits = media::image_limits(Limits{});
  const auto header = media::probe_image(file, limits);
  ASSERT_EQ(media::count_frames(file, header.format, limits).n_frames, n_frames) << name;
  std::vector<std::uint32_t> frames(static_cast<std::size_t>(n_frames));
  std::iota(frames.begin(), frames.end(), 0U);
  for (const ImageSize target : {header.oriented(), ImageSize{31, 20}}) {
    const std::size_t n_bytes = media::rgb_bytes(target);
    ByteVector ours(frames.size() * n_bytes);
    ASSERT_EQ(media::decode_frames(file, limits, target, frames, ours), MediaError::kNone) << name;
    std::vector<Wanted> wanted;
    for (int i = 0; i < n_frames; ++i) wanted.push_back({file, target, i});
    const auto expected = reference_pixels(wanted);
    ASSERT_EQ(expected.size(), frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const auto at = ours.begin() + static_cast<std::ptrdiff_t>(i * n_bytes);
      const ByteVector frame(at, at + static_cast<std::ptrdiff_t>(n_bytes));
      EXPECT_LE(media::max_difference(frame, expected[i]), exact)
          << name << ", frame " << i << ", width " << target.width;
    }
  }
}

/// Frames of different places and ways to leave, over a first one that fills the canvas.
std::vector<testing::MovingFrame> moving_frames(std::size_t n_channels) {
  std::vector<testing::MovingFrame> frames(7);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto step = static_cast<int>(i);
    frames[i].raster = picture(n_channels, i == 0 ? kSize : ImageSize{50 - step, 30 + step});
    frames[i].left = i == 0 ? 0 : 8 * step;
    frames[i].top = i == 0 ? 0 : 6 * step;
  }
  return frames;
}

TEST(Pixels, FramesOfAGifEqualTheReference) {
  // Not 0, "unspecified": Pillow then does as with the frame before, browsers nothing.
  constexpr std::array kDisposals{1, 1, 2, 3, 1, 3, 2};
  ByteVector palette;
  for (int i = 0; i < 16 * 3; ++i) palette.push_back(static_cast<std::uint8_t>(i * 53));
  auto frames = moving_frames(1);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    for (auto& value : frames[i].raster.bytes) {
      value = static_cast<std::uint8_t>((value / 16U + i) % 16);
    }
    frames[i].transparent = 7;  // where to the background means to nothing
    frames[i].disposal = kDisposals[i];
    frames[i].interlaced = i % 2 == 1;
  }

  expect_frames("global palette", encode_gif_frames(kSize, palette, frames), 7, 1);
  expect_frames("local palettes", encode_gif_frames(kSize, palette, frames, true), 7, 1);
}

TEST(Pixels, FramesOfAWebpEqualTheReference) {
  auto frames = moving_frames(4);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    frames[i].covers = i % 3 == 2;
    frames[i].disposal = i % 2 == 1 ? 2 : 0;
  }

  expect_frames("alpha", encode_webp_frames(kSize, frames), 7, 1);
}

TEST(Pixels, AvifEqualsThePixelsThatItWasMadeOf) {
  // Pillow reads none: it gets the same pixels as a PNG. The encoder loses a little, and a wider
  // gamut stretches that where a channel is nearly black.
  const Raster rgb = picture(3);
  const ByteVector png = testing::encode_png(rgb);
  std::vector<Case> cases;
  for (const int depth : {8, 10, 12}) {
    testing::AvifOptions options;
    options.depth = depth;
    cases.push_back(
        {std::to_string(depth) + " bit", encode_avif(rgb, options), 7, false, png, 1.5});
  }
  testing::PngOptions p3_png;
  p3_png.icc = testing::icc_display_p3();
  testing::AvifOptions p3;
  p3.depth = 10;
  p3.primaries = 12;
  cases.push_back({"Display P3 by code points", encode_avif(rgb, p3), 8, false,
                   testing::encode_png(rgb, p3_png), 1.5});
  testing::AvifOptions profile;
  profile.icc = testing::icc_adobe_rgb();
  testing::PngOptions adobe_png;
  adobe_png.icc = profile.icc;
  cases.push_back({"Adobe RGB by profile", encode_avif(rgb, profile), 24, false,
                   testing::encode_png(rgb, adobe_png), 1.5});
  testing::PngOptions turned_png;
  turned_png.exif = testing::exif_with_orientation(8);
  testing::AvifOptions turned;
  turned.quarter_turns = 1;
  cases.push_back(
      {"turned", encode_avif(rgb, turned), 7, false, testing::encode_png(rgb, turned_png), 1.5});

  expect_reference(cases);
}

}  // namespace
}  // namespace tessera::pixels
