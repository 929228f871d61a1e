// Quantiles of many durations in little memory: counted in steps of a fiftieth, from a microsecond.
// @thread one; a value
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tessera::simulate {

class Quantiles {
 public:
  void add(double seconds) {
    ++counts_[place(seconds)];
    ++n_;
    if (seconds > largest_) largest_ = seconds;
  }

  std::uint64_t count() const { return n_; }
  double largest() const { return largest_; }

  /// @param part  of the durations that are not longer, e.g. 0.99
  /// @return      within a fiftieth; 0 when there are none
  double at(double part) const {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(n_)));
    std::uint64_t n_before = 0;
    for (std::size_t i = 0; i < kSteps; ++i) {
      n_before += counts_[i];
      if (n_before >= wanted && n_before > 0) {
        const double top = kLeast * std::pow(kRatio, static_cast<double>(i));
        return top < largest_ ? top : largest_;
      }
    }
    return 0;
  }

 private:
  static constexpr double kLeast = 1e-6;
  static constexpr double kRatio = 1.02;
  static constexpr std::size_t kSteps = 1600;  // up to 1e-6 · 1.02^1599 s, a year and a half

  static std::size_t place(double seconds) {
    if (!(seconds > kLeast)) return 0;
    const double step = std::ceil(std::log(seconds / kLeast) / std::log(kRatio));
    return step < kSteps - 1 ? static_cast<std::size_t>(step) : kSteps - 1;
  }

  std::array<std::uint64_t, kSteps> counts_{};
  std::uint64_t n_ = 0;
  double largest_ = 0;
};

}  // namespace tessera::simulate
