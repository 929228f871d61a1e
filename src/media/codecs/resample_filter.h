// Weights of an antialiased bicubic along one axis: which input samples an output sample is made
// of, and how much of each.
//
// Catmull-Rom's cubic (a = −0.5) stretched by the ratio, so that shrinking averages over everything
// that an output sample covers; at the edges the weights that are left are scaled to a sum of one.
// In double, then rounded to fixed point: the numbers are those of Pillow's BICUBIC, which the
// models' own processors call.
//
// Memory: each input sample is in ≤ kOpenOutputsMax spans, so that a table has less than
// 5 · n_in + 3 · n_out weights of 4 bytes: 0.5 MB for the longest side.
// @thread any; immutable once made
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::media {

/// Weights are multiples of 2^−22: Σ|weight| < 2 of 255 · 2^22 fits 31 bits, with no bit to spare.
inline constexpr int kWeightBits = 22;

/// A span is 4 · ratio + 1 samples long at most, spans start ratio ≥ 1 apart, and ends are rounded.
inline constexpr int kOpenOutputsMax = 6;

struct ResampleAxis {
  int n_in = 1;   // samples
  int n_out = 1;  // 1 ≤ n_out ≤ n_in
  double extent =
      1;  // how much of the input the output covers, in samples; n_in − 1 < extent ≤ n_in

  /// Nothing to do along this axis.
  bool is_identity() const { return n_in == n_out; }
};

class FilterTable {
 public:
  explicit FilterTable(const ResampleAxis& axis);

  /// Samples [first, first + weights.size()) make an output sample. Both ends grow with the output.
  struct Span {
    int first = 0;
    std::span<const std::int32_t> weights;
    int end() const { return first + static_cast<int>(weights.size()); }
  };
  /// @param output  0 ≤ output < n_out()
  Span span(int output) const {
    const Place& place = places_[static_cast<std::size_t>(output)];
    return {place.first, std::span(weights_).subspan(place.weights_at, place.n)};
  }

  int n_out() const { return static_cast<int>(places_.size()); }

 private:
  struct Place {
    int first = 0;
    std::size_t weights_at = 0;
    std::size_t n = 0;
  };

  std::vector<Place> places_;
  std::vector<std::int32_t> weights_;
};

}  // namespace tessera::media
