#include "generate/batch.h"

namespace tessera::generate {
namespace {

const Sequence* find(const SequenceTable& sequences, SequenceId id) {
  return sequences[static_cast<std::size_t>(id.value)].get();
}

}  // namespace

TokenBatch build_token_batch(const schedule::StepPlan& plan, const SequenceTable& sequences) {
  TokenBatch batch;
  const auto add = [&](SequenceId id, int n_rows, schedule::Phase phase) {
    const Sequence* sequence = find(sequences, id);
    if (sequence == nullptr) return;
    const bool samples = sequence->append_rows(n_rows, batch.rows);
    batch.parts.push_back(
        {id, n_rows, samples ? static_cast<int>(batch.rows.size()) - 1 : -1, phase});
  };
  for (const SequenceId id : plan.decode) add(id, 1, schedule::Phase::kDecode);
  for (const schedule::Slice& slice : plan.text) {
    add(slice.sequence, slice.n_rows, schedule::Phase::kPrefillText);
  }
  return batch;
}

VisualBatch build_visual_batch(const schedule::StepPlan& plan, const SequenceTable& sequences) {
  VisualBatch batch;
  for (const schedule::Slice& slice : plan.visual) {
    const Sequence* sequence = find(sequences, slice.sequence);
    if (sequence == nullptr) continue;
    batch.slices.push_back(sequence->visual_rows(slice.n_rows));
    batch.parts.push_back({slice.sequence, slice.n_rows, -1, schedule::Phase::kPrefillVisual});
    batch.n_rows += slice.n_rows;
  }
  return batch;
}

}  // namespace tessera::generate
