#include "generate/batch.h"

namespace tessera::generate {
namespace {

using schedule::Phase;

void add_tokens(const Sequence& sequence, int n_rows, Phase phase, Batch& batch) {
  const bool samples = sequence.append_rows(n_rows, batch.tokens);
  batch.parts.push_back({sequence.id(), n_rows, samples, phase});
}

void add_visual(const Sequence& sequence, int n_rows, Batch& batch) {
  batch.visual.push_back(sequence.visual_rows(n_rows));
  batch.parts.push_back({sequence.id(), n_rows, false, Phase::kPrefillVisual});
  batch.n_visual_rows += n_rows;
}

}  // namespace

Batch build_batch(const schedule::CallPlan& plan, const SequenceTable& sequences) {
  const auto find = [&](SequenceId id) {
    return sequences[static_cast<std::size_t>(id.value)].get();
  };
  Batch batch;
  for (const SequenceId id : plan.decode) {
    if (const Sequence* sequence = find(id)) add_tokens(*sequence, 1, Phase::kDecode, batch);
  }
  for (const schedule::Slice& slice : plan.prefill) {
    const Sequence* sequence = find(slice.sequence);
    if (sequence == nullptr) continue;
    if (sequence->view().phase == Phase::kPrefillVisual) {
      add_visual(*sequence, slice.n_rows, batch);
    } else {
      add_tokens(*sequence, slice.n_rows, Phase::kPrefillText, batch);
    }
  }
  return batch;
}

}  // namespace tessera::generate
