// How many rows a step may take, from how long they take: what decodes must not wait longer for its
// next token than the objective says because somebody else's prompt is prefilled beside it. A pure
// function of its arguments.
#pragma once

#include <span>

#include "core/clock.h"
#include "schedule/call_cost.h"
#include "schedule/plan_step.h"

namespace tessera::schedule {

/// Of the calls of a step.
struct StepCosts {
  CallCost first;
  CallCost second;
};

/// A slice is never smaller, whatever the objective: prefill must go on. No more than this: beside
/// four images, where a row attends over thousands of cells, four rows took ten times as long as
/// the tokens of an answer alone.
inline constexpr int kSliceRowsMin = 1;

/// Of a kind of call that was never measured: one row alone would not tell what more of them cost.
inline constexpr int kFirstSliceRows = 4;

/// Without an objective a step with prefill may take this many times as long as one without: half
/// of the time for prompts. In two calls it is more, for the weights are read twice.
inline constexpr double kStretchMax = 2;
inline constexpr double kStretchMaxInTwoCalls = 2.5;

/// Nor does it have to be shorter than this: twenty tokens a second are more than anybody reads.
inline constexpr double kUnnoticedSeconds = 0.05;

/// @param n_cells      of the KV cache in use
/// @param inter_token  the objective: the time from one token of an answer to the next; zero = as
///                     the constants above say
/// @param ceiling      the most a step may take however fast it is
/// @return             the ceiling while nobody decodes or nothing was measured. Room for every row
///                     that decodes is in it, as far as the ceiling has it
StepBudget step_budget(std::span<const SequenceView> sequences, const StepCosts& costs, int n_cells,
                       Duration inter_token, const StepBudget& ceiling);

}  // namespace tessera::schedule
