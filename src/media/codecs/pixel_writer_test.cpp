#include "media/codecs/pixel_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tessera::media {
namespace {

using Pixels = std::vector<std::uint8_t>;

Pixels write(ImageSize stored, Orientation orientation, PixelLayout layout, const Pixels& source) {
  Pixels out(static_cast<std::size_t>(stored.pixels()) * 3, 0xEE);
  PixelWriter writer(stored, orientation, out);
  writer.begin(layout, {});
  const auto stride = static_cast<std::size_t>(stored.width * layout.n_channels());
  for (int y = 0; y < stored.height; ++y) {
    writer.write_row(y, source.data() + static_cast<std::size_t>(y) * stride);
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

TEST(PixelWriter, AcceptsRowsInAnyOrderAndIgnoresRowsOutside) {
  Pixels out(2 * 3);
  PixelWriter writer({1, 2}, Orientation::kUpright, out);
  writer.begin({ColorModel::kGray, false}, {});
  const std::array<std::uint8_t, 2> values{10, 20};

  writer.write_row(1, &values[1]);
  writer.write_row(0, &values[0]);
  writer.write_row(2, &values[0]);
  writer.write_row(-1, &values[0]);

  EXPECT_EQ(out, (Pixels{10, 10, 10, 20, 20, 20}));
}

}  // namespace
}  // namespace tessera::media
