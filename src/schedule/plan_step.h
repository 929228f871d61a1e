// Which rows of which sequences the next step runs. A pure function of its arguments: no clock, no
// I/O, no native handle, so that the same code runs under a simulator.
//
// A step is one model call: a row for every sequence that decodes, then slices of prompts, text and
// visual ones alike. Where a model takes one kind of rows in a call, it is two: token rows, then
// visual rows. A non-causal segment is computed whole, and no other prompt beside it; it has the
// second call to itself where it does not fit beside what decodes.
//
// Prefill goes to whoever has least of its prompt left, in powers of two and among equals the
// oldest, so that a short question does not wait for a long video. Tenants have equal parts of the
// rows; what one does not need goes to whoever is next. Every kTurnSteps-th step goes by
// age alone, so that nobody waits for ever, whatever else comes: a prompt of n rows with m rows of
// older ones before it ends within kTurnSteps · (n + m) of the steps that it could have had a part
// in.
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
  TenantId tenant;
  std::uint64_t arrival = 0;  // in the order of their start: smaller = older; ties go by id
  Phase phase = Phase::kPrefillText;
  int n_left = 1;           // rows left in the current segment; 1 in Phase::kDecode
  bool non_causal = false;  // of the current visual segment
  int n_prompt_left = 1;    // rows until its first output token; counts while it prefills
};

/// The oldest prompt has an eighth of the steps to itself: enough to end, and too few to be felt by
/// those who have little to compute.
inline constexpr std::uint64_t kTurnSteps = 8;

/// Numbers of rows, all at least 1.
struct StepBudget {
  bool mixes = false;     // whether a call takes both kinds of rows
  int n_rows = 1;         // of the first call
  int n_visual_rows = 1;  // of the second, where calls do not mix
  int n_rows_max = 1;     // what a call can take; bounds a non-causal segment
};

/// Of the current segment of a prompt.
struct Slice {
  SequenceId sequence;
  int n_rows = 0;
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// One model call. A sequence has one part in a step at most.
struct CallPlan {
  std::vector<SequenceId> decode;  // one row each
  std::vector<Slice> prefill;

  bool empty() const { return decode.empty() && prefill.empty(); }
  int n_rows() const;
  friend bool operator==(const CallPlan&, const CallPlan&) = default;
};

struct StepPlan {
  CallPlan first;
  CallPlan second;  // visual rows alone

  bool empty() const { return first.empty() && second.empty(); }
  int n_rows() const { return first.n_rows() + second.n_rows(); }
  friend bool operator==(const StepPlan&, const StepPlan&) = default;
};

/// Not empty unless all sequences, if there are any, wait for features or prefixes. The order of
/// `sequences` does not matter.
/// @param sequences  ids are unique; each n_left ≥ 1; a non-causal n_left ≤ budget.n_rows_max
/// @param n_steps    that there were before
StepPlan plan_step(std::span<const SequenceView> sequences, const StepBudget& budget,
                   std::uint64_t n_steps);

}  // namespace tessera::schedule
