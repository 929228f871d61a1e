#include "schedule/call_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace tessera::schedule {
namespace {

// Of what was measured before: ten calls later it counts a third.
constexpr double kMemory = 0.9;

// Keeps the terms of a usual call near one, so that the equations stay well-conditioned.
constexpr double kRowScale = 64;
constexpr double kCellScale = 64.0 * 1024;

// A pivot below this part of its column says that the points do not tell the terms apart.
constexpr double kPivotMin = 1e-9;

// What a term has to gain before it is believed: below three percent, the mean error of a call is
// the machine's own unsteadiness.
constexpr double kNoise = 0.03 * 0.03;

/// Which terms may explain the points, the most careful first: with one size seen, twice the rows
/// take twice the time.
constexpr std::array<std::array<bool, 3>, 7> kSubsets{{{false, true, false},
                                                       {true, true, false},
                                                       {true, false, false},
                                                       {false, true, true},
                                                       {true, true, true},
                                                       {true, false, true},
                                                       {false, false, true}}};

using Terms = std::array<double, 3>;

/// The normal equations of the relative error: of each point, terms / seconds should give one.
class Equations {
 public:
  void add(Terms terms, double seconds, double weight) {
    for (double& term : terms) term /= seconds;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      for (std::size_t j = 0; j < terms.size(); ++j) rows_[i][j] += weight * terms[i] * terms[j];
      rows_[i].back() += weight * terms[i];
    }
    weight_ += weight;
  }

  double weight() const { return weight_; }

  /// The sum of the squares, by weight.
  double error(const Terms& coefficients) const {
    double sum = weight_;
    for (std::size_t i = 0; i < coefficients.size(); ++i) {
      sum -= 2 * coefficients[i] * rows_[i].back();
      for (std::size_t j = 0; j < coefficients.size(); ++j) {
        sum += coefficients[i] * coefficients[j] * rows_[i][j];
      }
    }
    return std::max(sum, 0.0);
  }

  /// Least squares with these terms alone. Nothing when the points do not determine them, or when
  /// one of them would be below zero.
  std::optional<Terms> solve(const std::array<bool, 3>& uses) const {
    auto rows = rows_;
    // The matrix is symmetric and has no negative eigenvalue: its diagonal is pivot enough.
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (!uses[i]) continue;
      if (!(rows[i][i] > kPivotMin * rows_[i][i])) return std::nullopt;
      for (std::size_t k = 0; k < uses.size(); ++k) {
        if (k == i || !uses[k]) continue;
        const double factor = rows[k][i] / rows[i][i];
        for (std::size_t j = 0; j < rows[k].size(); ++j) rows[k][j] -= factor * rows[i][j];
      }
    }
    Terms solution{};
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (!uses[i]) continue;
      solution[i] = rows[i].back() / rows[i][i];
      if (!(solution[i] >= 0)) return std::nullopt;
    }
    return solution;
  }

 private:
  std::array<std::array<double, 4>, 3> rows_{};  // the right side last
  double weight_ = 0;
};

}  // namespace

CallCost::Terms CallCost::terms_of(int n_rows, int n_cells) {
  const double rows = n_rows;
  return {1, rows / kRowScale, rows * static_cast<double>(n_cells) / kCellScale};
}

void CallCost::record(int n_rows, int n_cells, double seconds) {
  if (n_rows < 1 || !(seconds > 0)) return;
  const auto size = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(n_rows)) - 1);
  Point& point = points_[std::min(size, kSizes - 1)];
  const double before = kMemory * point.weight;
  point.weight = before + 1;
  const Terms terms = terms_of(n_rows, n_cells);
  for (std::size_t i = 0; i < kTerms; ++i) {
    point.terms[i] = (before * point.terms[i] + terms[i]) / point.weight;
  }
  point.seconds = (before * point.seconds + seconds) / point.weight;
  fit();
}

std::optional<double> CallCost::seconds(int n_rows, int n_cells) const {
  if (!coefficients_) return std::nullopt;
  const Terms terms = terms_of(n_rows, n_cells);
  double sum = 0;
  for (std::size_t i = 0; i < kTerms; ++i) sum += (*coefficients_)[i] * terms[i];
  return sum;
}

std::optional<int> CallCost::rows_within(double seconds, int n_cells, int n_rows_max) const {
  if (!coefficients_) return std::nullopt;
  const double for_none = *this->seconds(0, n_cells);
  const double for_one = *this->seconds(1, n_cells) - for_none;
  if (for_none > seconds) return 0;
  const double n_rows = (seconds - for_none) / for_one;  // no time for a row: all of them
  return n_rows < n_rows_max ? static_cast<int>(n_rows) : n_rows_max;
}

void CallCost::fit() {
  Equations equations;
  for (const Point& point : points_) {
    if (point.weight > 0) equations.add(point.terms, point.seconds, point.weight);
  }
  double least = 0;
  bool found = false;
  for (const auto& uses : kSubsets) {
    if (found && least <= kNoise * equations.weight()) break;  // nothing is left to gain
    const std::optional<Terms> candidate = equations.solve(uses);
    if (!candidate) continue;
    const double squares = equations.error(*candidate);
    if (found && squares >= least - kNoise * equations.weight()) continue;
    found = true;
    least = squares;
    coefficients_ = candidate;
  }
}

}  // namespace tessera::schedule
