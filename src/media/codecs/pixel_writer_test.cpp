#include "media/codecs/pixel_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace tessera::media {
namespace {

using Pixels = std::vector<std::uint8_t>;

Pixels write(ImageSize stored, Orientation orientation, PixelLayout layout, const Pixels& source) {
  Pixels out(static_cast<std::size_t>(stored.pixels()) * 3, 0xEE);
  PixelWriter writer(stored, orientation, oriented(stored, orientation), out);
  writer.begin(layout, {});
  const auto stride = static_cast<std::size_t>(stored.width * layout.n_channels());
  for (int y = 0; y < stored.height; ++y) {
    writer.write_row(source.data() + static_cast<std::size_t>(y) * stride);
  }
  return out;
}

TEST(PixelWriter, CopiesUprightRgb) {
  const Pixels source{1, 2, 3, 4, 5, 6};

  EXPECT_EQ(write({2, 1}, Orientation::kUpright, {ColorModel::kRgb, false}, source), source);
}

TEST(PixelWriter, TurnsRowsIntoColumns) {
  const Pixels source{1, 2};  // two grey pixels side by side

  EXPECT_EQ(write({2, 1}, Orientation::kRotate90, {ColorModel::kGray, false}, source),
            (Pixels{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(write({2, 1}, Orientation::kRotate270, {ColorModel::kGray, false}, source),
            (Pixels{2, 2, 2, 1, 1, 1}));
}

TEST(PixelWriter, BlendsStraightAlphaOverWhite) {
  const Pixels rgba{100, 0, 255, 255,  //
                    100, 0, 255, 0,    //
                    100, 0, 255, 128};

  EXPECT_EQ(write({3, 1}, Orientation::kUpright, {ColorModel::kRgb, true}, rgba),
            (Pixels{100, 0, 255, 255, 255, 255, 177, 127, 255}));
  EXPECT_EQ(write({1, 1}, Orientation::kUpright, {ColorModel::kGray, true}, {0, 51}),
            (Pixels{204, 204, 204}));
}

TEST(PixelWriter, IgnoresRowsTooMany) {
  Pixels out(2 * 3);
  PixelWriter writer({1, 2}, Orientation::kUpright, {1, 2}, out);
  writer.begin({ColorModel::kGray, false}, {});
  const std::array<std::uint8_t, 3> values{10, 20, 30};

  for (const std::uint8_t& value : values) writer.write_row(&value);

  EXPECT_EQ(out, (Pixels{10, 10, 10, 20, 20, 20}));
}

/// Noise: neighbours have nothing to do with each other, so that overshoots are cut everywhere.
Pixels noise(ImageSize size, std::uint32_t seed) {
  std::mt19937 random(seed);
  Pixels rgb(static_cast<std::size_t>(size.pixels()) * 3);
  for (auto& value : rgb) value = static_cast<std::uint8_t>(random());
  return rgb;
}

Pixels write_to(ImageSize stored, Orientation orientation, ImageSize target, const Pixels& rgb) {
  Pixels out(static_cast<std::size_t>(target.pixels()) * 3);
  PixelWriter writer(stored, orientation, target, out);
  writer.begin({ColorModel::kRgb, false}, {});
  for (std::ptrdiff_t y = 0; y < stored.height; ++y) {
    writer.write_row(rgb.data() + y * stored.width * 3);
  }
  return out;
}

TEST(PixelWriter, TurningAndResamplingGiveTheSameBytesInEitherOrder) {
  const ImageSize stored{61, 47};
  const Pixels rgb = noise(stored, 7);
  for (int value = 1; value <= 8; ++value) {
    const auto orientation = static_cast<Orientation>(value);
    const ImageSize turned_size = oriented(stored, orientation);
    const ImageSize target{turned_size.width / 3, turned_size.height * 2 / 5};

    const Pixels turned = write_to(stored, orientation, turned_size, rgb);
    const Pixels expected = write_to(turned_size, Orientation::kUpright, target, turned);

    EXPECT_EQ(write_to(stored, orientation, target, rgb), expected) << "orientation " << value;
  }
}

TEST(PixelWriter, BlendsAlphaBeforeItResamples) {
  // Half of the pixels are black and transparent: white. The others are black. Their mean is grey.
  const Pixels gray_alpha{0, 0, 0, 255, 0, 0, 0, 255};
  Pixels out(3);
  PixelWriter writer({4, 1}, Orientation::kUpright, {1, 1}, out);
  writer.begin({ColorModel::kGray, true}, {});

  writer.write_row(gray_alpha.data());

  EXPECT_NEAR(out[0], 127, 1);
}

TEST(PixelWriter, TakesRowsOfAScaledDecode) {
  // ⌈5 · 4/8⌉ = 3 delivered pixels, of which the last is covered by half.
  Pixels out(2 * 2 * 3);
  PixelWriter writer({5, 4}, Orientation::kUpright, {2, 2}, out);
  writer.begin({ColorModel::kGray, false}, {}, DecodeScale{4});
  const Pixels row{9, 9, 9};

  writer.write_row(row.data());
  writer.write_row(row.data());

  EXPECT_EQ(out, Pixels(12, 9));
}

}  // namespace
}  // namespace tessera::media
