#include "media/codecs/resample_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tessera::media {
namespace {

std::vector<std::uint8_t> random_bytes(std::size_t n) {
  std::mt19937 random(99);
  std::vector<std::uint8_t> bytes(n);
  for (auto& value : bytes) value = static_cast<std::uint8_t>(random());
  return bytes;
}

TEST(ResampleKernels, EveryVariantShrinksARowToTheSameBytes) {
  // Spans of even and odd length, and of one sample.
  for (const ResampleAxis& axis : {ResampleAxis{97, 31, 97},
                                   {8, 4, 8},
                                   {500, 1, 500},
                                   {3, 1, 3},
                                   ResampleAxis{1500, 1120, 1500}}) {
    const FilterTable table(axis);
    const auto in = random_bytes(static_cast<std::size_t>(axis.n_in) * 3 + kRowPadding);
    std::vector<std::uint8_t> best(static_cast<std::size_t>(axis.n_out) * 3 + kRowPadding);
    std::vector<std::uint8_t> portable(best.size());

    resample_kernels().shrink_row(table, in.data(), best.data());
    portable_resample_kernels().shrink_row(table, in.data(), portable.data());

    best.resize(best.size() - kRowPadding);
    portable.resize(best.size());
    EXPECT_EQ(best, portable);
    std::int64_t sum = std::int64_t{1} << (kWeightBits - 1);
    const auto span = table.span(0);
    for (std::size_t i = 0; i < span.weights.size(); ++i) {
      sum += std::int64_t{span.weights[i]} * in[(static_cast<std::size_t>(span.first) + i) * 3];
    }
    EXPECT_EQ(portable[0], std::clamp<std::int64_t>(sum >> kWeightBits, 0, 255));
  }
}

TEST(ResampleKernels, EveryVariantAddsAndRoundsTheSame) {
  for (const std::size_t n : {1U, 3U, 15U, 16U, 333U}) {
    const auto row = random_bytes(n);
    std::vector<std::int32_t> best(n, 1 << (kWeightBits - 1));
    std::vector<std::int32_t> portable = best;
    for (const std::int32_t weight : {3'000'000, -700'000, 1'894'304}) {
      resample_kernels().add_weighted(row.data(), weight, best.data(), n);
      portable_resample_kernels().add_weighted(row.data(), weight, portable.data(), n);
    }
    std::vector<std::uint8_t> best_out(n);
    std::vector<std::uint8_t> portable_out(n);

    resample_kernels().round_sums(best.data(), best_out.data(), n);
    portable_resample_kernels().round_sums(portable.data(), portable_out.data(), n);

    EXPECT_EQ(best, portable);
    EXPECT_EQ(best_out, portable_out);
    EXPECT_EQ(portable_out, row);  // weights of one in all
  }
}

TEST(ResampleKernels, SumsOutsideAByteAreCut) {
  const std::int32_t sums[] = {-5 << kWeightBits, 300 << kWeightBits, 128 << kWeightBits};
  std::uint8_t out[3];

  resample_kernels().round_sums(sums, out, 3);

  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 255);
  EXPECT_EQ(out[2], 128);
}

}  // namespace
}  // namespace tessera::media
