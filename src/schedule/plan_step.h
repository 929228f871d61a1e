// Which rows of which sequences the next step runs. A pure function of its arguments: no clock, no
// I/O, no native handle, so that the same code runs under a simulator.
//
// A step has two model calls. Call A takes token rows: one for every sequence that decodes, then
// slices of text prefill. Call B takes rows of visual segments; a non-causal segment is computed
// alone and whole.
//
// Prefill goes to whoever has least of its prompt left, in powers of two, so that a short question
// does not wait for a long video. Who is passed over ages: kAgingSteps such steps weigh as much as
// half of what is left. Nobody waits for ever: all who wait age alike, and a prompt has fewer than
// 2³¹ rows, so after kWaitStepsMax of them a newcomer is not before a sequence, but those alone
// that waited then, each finite; so is what decodes, for where a step has no room for prefill
// beside it, no sequence begins to decode. Who is served gets younger by that step: a long prompt
// and short ones that keep coming take turns. Several long ones age while they pass each other
// over, so that under more load than steps take short ones come to wait for them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"

namespace tessera::schedule {

enum class Phase {
  kPrefillText,
  kPrefillVisual,
  kAwaitFeatures,  // the rows of its visual segment are still being encoded: no part in a step
  kAwaitPrefix,    // another sequence computes the beginning of its prompt: no part in a step
  kDecode,
};

/// What the planner sees of a running sequence.
struct SequenceView {
  SequenceId id;
  std::uint64_t arrival = 0;  // smaller = older; ties go to the smaller id
  Phase phase = Phase::kPrefillText;
  int n_left = 1;           // rows left in the current segment; 1 in Phase::kDecode
  bool non_causal = false;  // of the current visual segment
  int n_prompt_left = 1;    // rows until its first output token; counts while it prefills
  /// Steps that it could have had a part in, and had none; less those that it had.
  std::uint64_t n_passed_over = 0;
};

/// Long enough that a question of thirty words overtakes a page of three thousand tokens (2⁷ times
/// as many) for a hundred steps: some seconds.
inline constexpr int kAgingSteps = 16;
inline constexpr int kWaitStepsMax = 31 * kAgingSteps;

/// All at least 1.
struct StepBudget {
  int n_token_rows = 1;   // call A
  int n_visual_rows = 1;  // call B, unless it holds a non-causal segment
  int n_rows_max = 1;     // what a model call can take; bounds a non-causal segment
};

struct Slice {
  SequenceId sequence;
  int n_rows = 0;
  friend bool operator==(const Slice&, const Slice&) = default;
};

struct StepPlan {
  std::vector<SequenceId> decode;  // call A, one row each
  std::vector<Slice> text;         // call A, after them
  std::vector<Slice> visual;       // call B

  bool empty() const { return decode.empty() && text.empty() && visual.empty(); }
  friend bool operator==(const StepPlan&, const StepPlan&) = default;
};

/// Not empty unless all sequences, if there are any, wait for features or prefixes. The order of
/// `sequences` does not matter.
/// @param sequences  ids are unique; each n_left ≥ 1; a non-causal n_left ≤ budget.n_rows_max
StepPlan plan_step(std::span<const SequenceView> sequences, const StepBudget& budget);

/// Whose prompt could have gone on and has no rows in the plan.
std::vector<SequenceId> passed_over(std::span<const SequenceView> sequences, const StepPlan& plan);

}  // namespace tessera::schedule
