// How long a model call takes here, learnt from the calls that were measured.
//
//   seconds = a + b · rows + c · rows · cells
//
// a: reading the weights; b: the products of a row; c: its attention, which in a cache that all
// sequences share goes over every cell in use.
//
// Calls of about the same size (log2 of their rows) are one point: a mean in which the last ten
// count most. So a machine whose load changes is followed, and sizes that did not come for a while
// are not forgotten. The line through the points has the least squares of the relative error, with
// no coefficient below zero.
//
// @thread one; a value without clock or handle, so that a simulator can use it
#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace tessera::schedule {

class CallCost {
 public:
  /// @param n_rows   ≥ 1; calls of none are not counted
  /// @param n_cells  of the KV cache, in use before the call
  /// @param seconds  > 0; else the clock did not see the call, and it is not counted
  void record(int n_rows, int n_cells, double seconds);

  /// Nothing before the first measurement.
  std::optional<double> seconds(int n_rows, int n_cells) const;

  /// The most rows of a call that takes no longer: from 0 to `n_rows_max`. Nothing before the first
  /// measurement.
  std::optional<int> rows_within(double seconds, int n_cells, int n_rows_max) const;

 private:
  static constexpr std::size_t kTerms = 3;
  /// Sizes are 1, 2–3, 4–7, …; the last holds all that are larger. 2¹⁵ rows are more than any
  /// context that a model was trained for takes in one call.
  static constexpr std::size_t kSizes = 16;
  using Terms = std::array<double, kTerms>;

  struct Point {
    double weight = 0;  // how many calls, the older ones for less; 0 = none yet
    Terms terms{};      // their mean
    double seconds = 0;
  };

  static Terms terms_of(int n_rows, int n_cells);
  void fit();

  std::array<Point, kSizes> points_{};
  std::optional<Terms> coefficients_;
};

}  // namespace tessera::schedule
