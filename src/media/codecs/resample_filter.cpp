#include "media/codecs/resample_filter.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace tessera::media {
namespace {

constexpr double kCubicSupport = 2.0;  // samples to each side, at ratio 1

/// Keys' cubic convolution with a = −0.5.
/// @source Keys, Cubic convolution interpolation for digital image processing, 1981, eq. (15)
double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1.0;
  if (x < kCubicSupport) return (((x - 5.0) * x + 8.0) * x - 4.0) * kA;
  return 0.0;
}

std::int32_t to_fixed(double weight) {
  const double scaled = weight * (1U << kWeightBits);
  return static_cast<std::int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

}  // namespace

FilterTable::FilterTable(const ResampleAxis& axis) {
  TSR_CHECK(axis.n_out >= 1 && axis.n_out <= axis.n_in);
  const double ratio = axis.extent / axis.n_out;
  const double stretch = std::max(ratio, 1.0);
  const double support = kCubicSupport * stretch;
  std::vector<double> exact;
  places_.reserve(static_cast<std::size_t>(axis.n_out));
  for (int output = 0; output < axis.n_out; ++output) {
    const double center = (output + 0.5) * ratio;
    // Cut after adding a half, as the reference does; below zero the maximum takes over.
    constexpr double kHalf = 0.5;
    const double from = center - support + kHalf;
    const double to = center + support + kHalf;
    const int first = std::max(0, static_cast<int>(from));
    const int end = std::min(axis.n_in, static_cast<int>(to));
    exact.clear();
    double sum = 0;
    for (int i = first; i < end; ++i) {
      exact.push_back(cubic((i - center + 0.5) * (1.0 / stretch)));
      sum += exact.back();
    }
    places_.push_back({first, weights_.size(), exact.size()});
    for (const double weight : exact) weights_.push_back(to_fixed(weight / sum));
  }
}

}  // namespace tessera::media
