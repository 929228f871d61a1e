#include "media/codecs/resample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tessera::media {
namespace {

using Pixels = std::vector<std::uint8_t>;
using Order = Resampler::Order;

ResampleAxis axis(int n_in, int n_out) {
  return {n_in, n_out, static_cast<double>(n_in)};
}

Pixels noise(ImageSize size) {
  std::mt19937 random(31);
  Pixels rgb(static_cast<std::size_t>(size.pixels()) * 3);
  for (auto& value : rgb) value = static_cast<std::uint8_t>(random());
  return rgb;
}

Pixels resample(const Pixels& rgb, ImageSize in, ImageSize out, Order order) {
  Resampler resampler(axis(in.width, out.width), axis(in.height, out.height), order);
  Pixels result;
  for (std::ptrdiff_t y = 0; y < in.height; ++y) {
    resampler.add_row(rgb.data() + y * in.width * 3);
    while (const std::uint8_t* row = resampler.take_row()) {
      result.insert(result.end(), row, row + std::ptrdiff_t{out.width} * 3);
    }
  }
  return result;
}

/// One axis in double, straight from the definition.
/// @param stride  between neighbours along the axis, in samples
void shrink_line(const std::uint8_t* in, int n_in, std::uint8_t* out, int n_out,
                 std::ptrdiff_t stride) {
  const double ratio = static_cast<double>(n_in) / n_out;
  for (int o = 0; o < n_out; ++o) {
    double sum = 0;
    double weights = 0;
    for (int i = 0; i < n_in; ++i) {
      const double x = std::abs((i + 0.5) / ratio - (o + 0.5));
      const double weight = x < 1   ? 1.5 * x * x * x - 2.5 * x * x + 1
                            : x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2
                                    : 0;
      weights += weight;
      sum += weight * in[i * stride];
    }
    out[o * stride] = static_cast<std::uint8_t>(std::clamp(std::round(sum / weights), 0.0, 255.0));
  }
}

Pixels reference(const Pixels& rgb, ImageSize in, ImageSize out) {
  const std::ptrdiff_t in_row = std::ptrdiff_t{in.width} * 3;
  const std::ptrdiff_t out_row = std::ptrdiff_t{out.width} * 3;
  Pixels middle(static_cast<std::size_t>(out_row * in.height));
  for (std::ptrdiff_t y = 0; y < in.height; ++y) {
    for (std::ptrdiff_t k = 0; k < 3; ++k) {
      shrink_line(rgb.data() + y * in_row + k, in.width, middle.data() + y * out_row + k, out.width,
                  3);
    }
  }
  // Down the columns a row has room for in.height rows.
  Pixels result = middle;
  for (std::ptrdiff_t x = 0; x < out_row; ++x) {
    shrink_line(middle.data() + x, in.height, result.data() + x, out.height, out_row);
  }
  result.resize(static_cast<std::size_t>(out_row * out.height));
  return result;
}

int max_difference(const Pixels& a, const Pixels& b) {
  if (a.size() != b.size()) return 256;
  int largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(Resampler, EqualsTheDefinitionWithinOneStep) {
  const ImageSize in{64, 48};
  const Pixels rgb = noise(in);
  for (const ImageSize out : {ImageSize{32, 24}, {21, 16}, {63, 47}, {1, 1}, {64, 5}, {7, 48}}) {
    EXPECT_LE(
        max_difference(resample(rgb, in, out, Order::kHorizontalFirst), reference(rgb, in, out)), 1)
        << out.width << "×" << out.height;
  }
}

TEST(Resampler, EqualSizesCopyEveryByte) {
  const ImageSize size{13, 9};
  const Pixels rgb = noise(size);

  EXPECT_EQ(resample(rgb, size, size, Order::kHorizontalFirst), rgb);
  EXPECT_EQ(resample(rgb, size, size, Order::kVerticalFirst), rgb);
}

TEST(Resampler, AFlatPictureStaysFlatToItsEdges) {
  const ImageSize in{50, 41};
  for (const std::uint8_t value :
       {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{200}, std::uint8_t{255}}) {
    const Pixels rgb(static_cast<std::size_t>(in.pixels()) * 3, value);
    for (const ImageSize out : {ImageSize{49, 40}, {17, 3}, {1, 1}}) {
      EXPECT_EQ(resample(rgb, in, out, Order::kVerticalFirst),
                Pixels(static_cast<std::size_t>(out.pixels()) * 3, value));
    }
  }
}

TEST(Resampler, TheOrderOfTheAxesIsAMatterOfTurning) {
  const ImageSize in{30, 22};
  const Pixels rgb = noise(in);
  const auto transposed = [](const Pixels& source, ImageSize size) {
    Pixels result;
    for (int x = 0; x < size.width; ++x) {
      for (int y = 0; y < size.height; ++y) {
        const auto at = source.begin() + (std::ptrdiff_t{y} * size.width + x) * 3;
        result.insert(result.end(), at, at + 3);
      }
    }
    return result;
  };

  const Pixels vertical_first = resample(rgb, in, {11, 7}, Order::kVerticalFirst);
  const Pixels turned = resample(transposed(rgb, in), {22, 30}, {7, 11}, Order::kHorizontalFirst);

  EXPECT_EQ(transposed(vertical_first, {11, 7}), turned);
}

TEST(Resampler, RowsComeAsSoonAsTheirLastInputIsThere) {
  // At ratio 4 the first row covers inputs up to 2 + 8 = 10.
  Resampler resampler(axis(2, 2), axis(40, 10), Order::kHorizontalFirst);
  const Pixels row(6, 77);
  int n_before_first = 0;
  for (; n_before_first < 40; ++n_before_first) {
    resampler.add_row(row.data());
    if (resampler.take_row() != nullptr) break;
  }

  EXPECT_EQ(n_before_first + 1, 10);
}

}  // namespace
}  // namespace tessera::media
