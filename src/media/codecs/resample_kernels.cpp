#include "media/codecs/resample_kernels.h"

#include <algorithm>
#include <cstring>

namespace tessera::media {
namespace {

// Inlined into each variant below, so that the vectors become that variant's instructions.
#define TSR_KERNEL [[gnu::always_inline]] inline

using Lanes = std::int32_t __attribute__((vector_size(32)));  // two pixels of four channels
using HalfLanes = std::int32_t __attribute__((vector_size(16)));
using Quad = std::uint8_t __attribute__((vector_size(4)));
using Octet = std::uint8_t __attribute__((vector_size(8)));

constexpr std::int32_t kHalf = std::int32_t{1} << (kWeightBits - 1);

TSR_KERNEL std::uint8_t round_sum(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

/// Two taps a step. A pixel's fourth lane is a neighbour's byte; its sum is thrown away.
TSR_KERNEL void shrink_row(const FilterTable& table, const std::uint8_t* in, std::uint8_t* out) {
  const int n_out = table.n_out();
  for (int output = 0; output < n_out; ++output, out += 3) {
    const FilterTable::Span span = table.span(output);
    const std::int32_t* weight = span.weights.data();
    const std::uint8_t* pixel = in + std::ptrdiff_t{span.first} * 3;
    const std::size_t n_pairs = span.weights.size() / 2;
    Lanes sums{kHalf, kHalf, kHalf, kHalf, 0, 0, 0, 0};
    for (std::size_t i = 0; i < n_pairs; ++i, weight += 2, pixel += 6) {
      Octet bytes;
      std::memcpy(&bytes, pixel, sizeof(bytes));
      const Octet pair = __builtin_shufflevector(bytes, bytes, 0, 1, 2, 3, 3, 4, 5, 6);
      const std::int32_t a = weight[0];
      const std::int32_t b = weight[1];
      sums += __builtin_convertvector(pair, Lanes) * Lanes{a, a, a, a, b, b, b, b};
    }
    HalfLanes sum = __builtin_shufflevector(sums, sums, 0, 1, 2, 3) +
                    __builtin_shufflevector(sums, sums, 4, 5, 6, 7);
    if (span.weights.size() % 2 != 0) {
      Quad bytes;
      std::memcpy(&bytes, pixel, sizeof(bytes));
      sum += __builtin_convertvector(bytes, HalfLanes) * *weight;
    }
    sum >>= kWeightBits;
    sum = __builtin_elementwise_max(sum, HalfLanes{});
    sum = __builtin_elementwise_min(sum, HalfLanes{255, 255, 255, 255});
    const Quad rounded = __builtin_convertvector(sum, Quad);
    std::memcpy(out, &rounded, sizeof(rounded));  // its fourth byte is written over
  }
}

TSR_KERNEL void add_weighted(const std::uint8_t* row, std::int32_t weight, std::int32_t* sums,
                             std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) sums[i] += weight * row[i];
}

TSR_KERNEL void round_sums(const std::int32_t* sums, std::uint8_t* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = round_sum(sums[i]);
}

void shrink_row_portable(const FilterTable& table, const std::uint8_t* in, std::uint8_t* out) {
  shrink_row(table, in, out);
}

void add_weighted_portable(const std::uint8_t* row, std::int32_t weight, std::int32_t* sums,
                           std::size_t n) {
  add_weighted(row, weight, sums, n);
}

void round_sums_portable(const std::int32_t* sums, std::uint8_t* out, std::size_t n) {
  round_sums(sums, out, n);
}

constexpr ResampleKernels kPortable{shrink_row_portable, add_weighted_portable,
                                    round_sums_portable};

#ifdef __x86_64__
// The build's baseline has no 32-bit vector multiplication; AVX2 has, for eight lanes.
#define TSR_AVX2 [[gnu::target("avx2")]]

TSR_AVX2 void shrink_row_avx2(const FilterTable& table, const std::uint8_t* in, std::uint8_t* out) {
  shrink_row(table, in, out);
}

TSR_AVX2 void add_weighted_avx2(const std::uint8_t* row, std::int32_t weight, std::int32_t* sums,
                                std::size_t n) {
  add_weighted(row, weight, sums, n);
}

TSR_AVX2 void round_sums_avx2(const std::int32_t* sums, std::uint8_t* out, std::size_t n) {
  round_sums(sums, out, n);
}

constexpr ResampleKernels kAvx2{shrink_row_avx2, add_weighted_avx2, round_sums_avx2};

const ResampleKernels& best_kernels() {
  return __builtin_cpu_supports("avx2") != 0 ? kAvx2 : kPortable;
}
#else
const ResampleKernels& best_kernels() {
  return kPortable;
}
#endif

}  // namespace

const ResampleKernels& resample_kernels() {
  static const ResampleKernels& best = best_kernels();
  return best;
}

const ResampleKernels& portable_resample_kernels() {
  return kPortable;
}

}  // namespace tessera::media
