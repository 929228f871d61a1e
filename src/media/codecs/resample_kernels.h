// The three inner loops of the resampler, compiled for the processor at hand. All variants give the
// same bytes: sums are integers.
// @thread any
#pragma once

#include <cstddef>
#include <cstdint>

#include "media/codecs/resample_filter.h"

namespace tessera::media {

/// Bytes that must be readable behind an input row: pixels are loaded two at a time, in eight
/// bytes.
inline constexpr std::size_t kRowPadding = 2;

struct ResampleKernels {
  /// @param in   [n_in][3] u8 and kRowPadding more
  /// @param out  [table.n_out()][3] u8 and kRowPadding more
  void (*shrink_row)(const FilterTable& table, const std::uint8_t* in, std::uint8_t* out);

  /// sums[i] += weight · row[i]
  void (*add_weighted)(const std::uint8_t* row, std::int32_t weight, std::int32_t* sums,
                       std::size_t n);

  /// out[i] = sums[i] / 2^kWeightBits, cut to 0…255
  void (*round_sums)(const std::int32_t* sums, std::uint8_t* out, std::size_t n);
};

/// The best variant for this processor.
const ResampleKernels& resample_kernels();

/// The variant without any instruction that a processor may lack; for tests.
const ResampleKernels& portable_resample_kernels();

}  // namespace tessera::media
