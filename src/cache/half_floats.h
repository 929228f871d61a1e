// Visual features at half the size: IEEE 754 binary16, rounded to nearest even.
// @thread any
#pragma once

#include <cstdint>
#include <span>

namespace tessera::cache {

/// The largest finite half.
inline constexpr float kHalfMax = 65504.F;

/// Whether halves can hold the values at all: finite, and none above kHalfMax.
bool fits_half(std::span<const float> values);

/// @param halves  as many as values
void to_half(std::span<const float> values, std::span<std::uint16_t> halves);

/// @param values  as many as halves
void from_half(std::span<const std::uint16_t> halves, std::span<float> values);

/// to_half() and from_half(): what a value that went through the cache comes back as.
void round_to_half(std::span<float> values);

}  // namespace tessera::cache
