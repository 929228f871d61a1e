#include "schedule/plan_step.h"

#include <algorithm>
#include <tuple>

#include "core/check.h"

namespace tessera::schedule {
namespace {

using Views = std::vector<SequenceView>;

void plan_token_call(const Views& oldest_first, int n_rows, StepPlan& plan) {
  for (const SequenceView& view : oldest_first) {
    if (view.phase != Phase::kDecode || n_rows == 0) continue;
    plan.decode.push_back(view.id);
    --n_rows;
  }
  for (const SequenceView& view : oldest_first) {
    if (view.phase != Phase::kPrefillText || n_rows == 0) continue;
    const int n_taken = std::min(view.n_left, n_rows);
    plan.text.push_back({view.id, n_taken});
    n_rows -= n_taken;
  }
}

void plan_visual_call(const Views& oldest_first, const StepBudget& budget, StepPlan& plan) {
  int n_rows = budget.n_visual_rows;
  for (const SequenceView& view : oldest_first) {
    if (view.phase != Phase::kPrefillVisual || n_rows == 0) continue;
    if (view.non_causal) {
      if (!plan.visual.empty()) continue;  // its turn comes when it is the oldest
      TSR_CHECK(view.n_left <= budget.n_rows_max);
      plan.visual.push_back({view.id, view.n_left});
      return;
    }
    const int n_taken = std::min(view.n_left, n_rows);
    plan.visual.push_back({view.id, n_taken});
    n_rows -= n_taken;
  }
}

}  // namespace

StepPlan plan_step(std::span<const SequenceView> sequences, const StepBudget& budget) {
  TSR_CHECK(budget.n_token_rows >= 1 && budget.n_visual_rows >= 1);
  Views oldest_first(sequences.begin(), sequences.end());
  std::sort(oldest_first.begin(), oldest_first.end(),
            [](const SequenceView& a, const SequenceView& b) {
              return std::tie(a.arrival, a.id) < std::tie(b.arrival, b.id);
            });
  StepPlan plan;
  plan_token_call(oldest_first, budget.n_token_rows, plan);
  plan_visual_call(oldest_first, budget, plan);
  return plan;
}

}  // namespace tessera::schedule
