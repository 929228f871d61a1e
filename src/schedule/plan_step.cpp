#include "schedule/plan_step.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <map>
#include <tuple>
#include <utility>

#include "core/check.h"

namespace tessera::schedule {
namespace {

using Views = std::vector<SequenceView>;

bool is_older(const SequenceView& a, const SequenceView& b) {
  return std::tie(a.arrival, a.id) < std::tie(b.arrival, b.id);
}

bool has_less_left(const SequenceView& a, const SequenceView& b) {
  const auto size = [](const SequenceView& view) {
    return std::bit_width(static_cast<unsigned>(std::max(view.n_prompt_left, 1)));
  };
  return size(a) != size(b) ? size(a) < size(b) : is_older(a, b);
}

Views in_phases(std::span<const SequenceView> sequences, std::initializer_list<Phase> phases) {
  Views views;
  for (const SequenceView& view : sequences) {
    if (std::ranges::find(phases, view.phase) != phases.end()) views.push_back(view);
  }
  return views;
}

void add_decode(std::span<const SequenceView> sequences, int n_rows, CallPlan& call) {
  Views views = in_phases(sequences, {Phase::kDecode});
  std::ranges::sort(views, is_older);
  for (const SequenceView& view : views) {
    if (n_rows-- == 0) return;
    call.decode.push_back(view.id);
  }
}

/// Equal parts of the rows. Who has one of those that are left over changes from step to step, so
/// that nobody is always without where there are more tenants than rows.
std::map<TenantId, int> parts_of_tenants(const Views& views, int n_rows, std::uint64_t n_steps) {
  std::vector<TenantId> tenants;
  for (const SequenceView& view : views) {
    if (std::ranges::find(tenants, view.tenant) == tenants.end()) tenants.push_back(view.tenant);
  }
  std::map<TenantId, int> parts;
  const auto n_tenants = std::max(static_cast<int>(tenants.size()), 1);
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    const auto place = static_cast<int>((i + n_steps) % tenants.size());
    parts[tenants[i]] = n_rows / n_tenants + (place < n_rows % n_tenants ? 1 : 0);
  }
  return parts;
}

/// @param views  in the order in which they are served
/// @param parts  rows of each tenant, as long as others want theirs; empty = all
void add_prefill(const Views& views, int n_rows, std::map<TenantId, int> parts, CallPlan& call) {
  if (n_rows == 0 || views.empty()) return;
  if (views.front().non_causal) {
    call.prefill.push_back({views.front().id, views.front().n_left});
    return;
  }
  std::vector<int> taken(views.size());
  const auto serve = [&](std::size_t i, int n_max) {
    if (views[i].non_causal) return 0;  // its turn comes when it is the first
    const int n = std::min({views[i].n_left - taken[i], n_rows, n_max});
    taken[i] += n;
    n_rows -= n;
    return n;
  };
  for (std::size_t i = 0; i < views.size() && !parts.empty(); ++i) {
    int& n_left_of_part = parts[views[i].tenant];
    n_left_of_part -= serve(i, n_left_of_part);
  }
  for (std::size_t i = 0; i < views.size(); ++i) serve(i, n_rows);
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (taken[i] > 0) call.prefill.push_back({views[i].id, taken[i]});
  }
}

/// Only a non-causal segment can be more than there is room for.
void move_what_does_not_fit(int n_rows_max, StepPlan& plan) {
  CallPlan& first = plan.first;
  if (first.prefill.size() != 1) return;
  TSR_CHECK(first.prefill.front().n_rows <= n_rows_max);
  if (static_cast<int>(first.decode.size()) + first.prefill.front().n_rows <= n_rows_max) return;
  plan.second.prefill = std::exchange(first.prefill, {});
}

}  // namespace

int CallPlan::n_rows() const {
  int n = static_cast<int>(decode.size());
  for (const Slice& slice : prefill) n += slice.n_rows;
  return n;
}

StepPlan plan_step(std::span<const SequenceView> sequences, const StepBudget& budget,
                   std::uint64_t n_steps) {
  TSR_CHECK(budget.n_rows >= 1 && budget.n_visual_rows >= 1);
  StepPlan plan;
  add_decode(sequences, budget.n_rows, plan.first);
  const int n_left = budget.n_rows - static_cast<int>(plan.first.decode.size());
  const bool by_age = n_steps % kTurnSteps == 0;
  const auto prefill = [&](std::initializer_list<Phase> phases, int n_rows, CallPlan& call) {
    Views prompts = in_phases(sequences, phases);
    std::ranges::sort(prompts, by_age ? is_older : has_less_left);
    auto parts = by_age ? std::map<TenantId, int>() : parts_of_tenants(prompts, n_rows, n_steps);
    add_prefill(prompts, n_rows, std::move(parts), call);
  };
  if (budget.mixes) {
    prefill({Phase::kPrefillText, Phase::kPrefillVisual}, n_left, plan.first);
    move_what_does_not_fit(budget.n_rows_max, plan);
  } else {
    prefill({Phase::kPrefillText}, n_left, plan.first);
    prefill({Phase::kPrefillVisual}, budget.n_visual_rows, plan.second);
  }
  return plan;
}

}  // namespace tessera::schedule
