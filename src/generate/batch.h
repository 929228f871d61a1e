// The batch of a model call: what the plan says, in the terms of the runtime.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "generate/sequence.h"
#include "runtime/runtime.h"
#include "schedule/plan_step.h"

namespace tessera::generate {

/// The running sequences by the value of their id; null = the id is free.
/// [Executor::n_sequences_max()]
using SequenceTable = std::vector<std::unique_ptr<Sequence>>;

/// What one sequence has in a batch. Named by id, for it may end before the batch does.
struct BatchPart {
  SequenceId sequence;
  int n_rows = 0;
  bool samples = false;  // a token is chosen after its last row
  schedule::Phase phase = schedule::Phase::kDecode;
};

struct Batch {
  std::vector<runtime::TokenRow> tokens;
  std::vector<runtime::VisualRows> visual;  // borrow from the requests
  std::vector<BatchPart> parts;
  int n_visual_rows = 0;

  int n_rows() const { return static_cast<int>(tokens.size()) + n_visual_rows; }
};

/// Sequences of the plan that have ended are left out.
Batch build_batch(const schedule::CallPlan& plan, const SequenceTable& sequences);

}  // namespace tessera::generate
