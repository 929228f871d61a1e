// Which rows of which sequences the next step runs. A pure function of its arguments: no clock, no
// I/O, no native handle, so that the same code runs under a simulator.
//
// A step has two model calls. Call A takes token rows: one for every sequence that decodes, then
// slices of text prefill, oldest sequence first. Call B takes rows of visual segments, oldest
// sequence first; a non-causal segment is computed alone and whole.
//
// Nobody waits for ever. Every sequence is finite, and:
//   call B  The oldest sequence with visual rows gets all the rows there are, so it ends its
//           segment after finitely many steps; younger ones never delay it.
//   call A  A sequence needs text prefill before it can decode, and text prefill is served oldest
//           first. So while a sequence waits for text rows, no younger one can begin to decode;
//           those that decode already end after finitely many steps, and then there are rows.
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
};

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

}  // namespace tessera::schedule
