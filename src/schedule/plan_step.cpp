#include "schedule/plan_step.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "core/check.h"

namespace tessera::schedule {
namespace {

using Views = std::vector<SequenceView>;

/// What is served first is smallest.
std::int64_t rank(const SequenceView& view) {
  const auto n_left = static_cast<unsigned>(std::max(view.n_prompt_left, 1));
  return std::int64_t{std::bit_width(n_left)} * kAgingSteps -
         static_cast<std::int64_t>(view.n_passed_over);
}

bool is_older(const SequenceView& a, const SequenceView& b) {
  return std::tie(a.arrival, a.id) < std::tie(b.arrival, b.id);
}

Views in_phase(std::span<const SequenceView> sequences, Phase phase) {
  Views views;
  for (const SequenceView& view : sequences) {
    if (view.phase == phase) views.push_back(view);
  }
  std::sort(views.begin(), views.end(), [phase](const SequenceView& a, const SequenceView& b) {
    const std::int64_t difference = phase == Phase::kDecode ? 0 : rank(a) - rank(b);
    return difference != 0 ? difference < 0 : is_older(a, b);
  });
  return views;
}

void plan_token_call(std::span<const SequenceView> sequences, int n_rows, StepPlan& plan) {
  for (const SequenceView& view : in_phase(sequences, Phase::kDecode)) {
    if (n_rows == 0) return;
    plan.decode.push_back(view.id);
    --n_rows;
  }
  for (const SequenceView& view : in_phase(sequences, Phase::kPrefillText)) {
    if (n_rows == 0) return;
    const int n_taken = std::min(view.n_left, n_rows);
    plan.text.push_back({view.id, n_taken});
    n_rows -= n_taken;
  }
}

void plan_visual_call(std::span<const SequenceView> sequences, const StepBudget& budget,
                      StepPlan& plan) {
  int n_rows = budget.n_visual_rows;
  for (const SequenceView& view : in_phase(sequences, Phase::kPrefillVisual)) {
    if (n_rows == 0) return;
    if (view.non_causal) {
      if (!plan.visual.empty()) continue;  // its turn comes when it is the first
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
  StepPlan plan;
  plan_token_call(sequences, budget.n_token_rows, plan);
  plan_visual_call(sequences, budget, plan);
  return plan;
}

std::vector<SequenceId> passed_over(std::span<const SequenceView> sequences, const StepPlan& plan) {
  const auto has = [](const std::vector<Slice>& slices, SequenceId id) {
    return std::ranges::find(slices, id, &Slice::sequence) != slices.end();
  };
  std::vector<SequenceId> ids;
  for (const SequenceView& view : sequences) {
    const bool waits = (view.phase == Phase::kPrefillText && !has(plan.text, view.id)) ||
                       (view.phase == Phase::kPrefillVisual && !has(plan.visual, view.id));
    if (waits) ids.push_back(view.id);
  }
  return ids;
}

}  // namespace tessera::schedule
