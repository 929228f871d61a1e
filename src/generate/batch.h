// The two batches of a step: what the plan says, in the terms of the runtime.
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
  int logits_row = -1;  // after which a token is sampled; −1 = none
  schedule::Phase phase = schedule::Phase::kDecode;
};

struct TokenBatch {
  std::vector<runtime::TokenRow> rows;
  std::vector<BatchPart> parts;
};

struct VisualBatch {
  std::vector<runtime::VisualRows> slices;  // borrow from the requests
  std::vector<BatchPart> parts;
  int n_rows = 0;
};

/// Sequences of the plan that have ended are left out.
TokenBatch build_token_batch(const schedule::StepPlan& plan, const SequenceTable& sequences);
VisualBatch build_visual_batch(const schedule::StepPlan& plan, const SequenceTable& sequences);

}  // namespace tessera::generate
