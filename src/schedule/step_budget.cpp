#include "schedule/step_budget.h"

#include <algorithm>

namespace tessera::schedule {
namespace {

int count(std::span<const SequenceView> sequences, Phase phase) {
  return static_cast<int>(std::count_if(sequences.begin(), sequences.end(),
                                        [&](const auto& view) { return view.phase == phase; }));
}

}  // namespace

StepBudget step_budget(std::span<const SequenceView> sequences, const StepCosts& costs, int n_cells,
                       Duration inter_token, const StepBudget& ceiling) {
  const int n_decode = count(sequences, Phase::kDecode);
  const auto decode_seconds = costs.first.seconds(n_decode, n_cells);
  if (n_decode == 0 || !decode_seconds) return ceiling;
  const bool in_two_calls = !ceiling.mixes && count(sequences, Phase::kPrefillVisual) > 0;
  const double stretch_max = in_two_calls ? kStretchMaxInTwoCalls : kStretchMax;
  const double objective = inter_token > Duration::zero()
                               ? to_seconds(inter_token)
                               : std::max(kUnnoticedSeconds, stretch_max * *decode_seconds);
  const bool both = in_two_calls && count(sequences, Phase::kPrefillText) > 0;
  const double share = std::max(0.0, objective - *decode_seconds) / (both ? 2 : 1);

  StepBudget budget = ceiling;
  const int n_rows =
      costs.first.rows_within(*decode_seconds + share, n_cells, ceiling.n_rows).value_or(0);
  budget.n_rows = std::min(std::max(n_rows, n_decode + kSliceRowsMin), ceiling.n_rows);
  const int n_visual =
      costs.second.rows_within(share, n_cells, ceiling.n_visual_rows).value_or(kFirstSliceRows);
  budget.n_visual_rows = std::min(std::max(n_visual, kSliceRowsMin), ceiling.n_visual_rows);
  return budget;
}

}  // namespace tessera::schedule
