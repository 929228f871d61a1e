#include "runtime/fake/fake_executor.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/fake/fake_sampler.h"

namespace tessera::runtime::fake {
namespace {

int n_rows(std::span<const TokenRow> tokens, std::span<const VisualRows> visual) {
  int n = static_cast<int>(tokens.size());
  for (const VisualRows& slice : visual) n += slice.n_rows();
  return n;
}

}  // namespace

FakeExecutor::FakeExecutor(const FakeOptions& options, std::shared_ptr<const Model> model,
                           std::shared_ptr<FakeControl> control)
    : model_(std::move(model)),
      control_(std::move(control)),
      n_kv_cells_(options.n_kv_cells > 0 ? options.n_kv_cells : options.context_length * 2),
      n_rows_max_(options.n_rows_max),
      can_share_(options.can_share),
      can_mix_(options.can_mix),
      sequences_(static_cast<std::size_t>(options.n_sequences_max)) {}

CallResult FakeExecutor::decode(std::span<const TokenRow> tokens,
                                std::span<const VisualRows> visual, const ShouldStop& stop) {
  check_thread();
  CallResult result;
  std::vector<std::vector<float>> scores;
  result.status = run(tokens, visual, stop, scores);
  if (result.status != DecodeStatus::kOk) return result;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].sampler == nullptr) continue;
    result.sampled.push_back(static_cast<FakeSampler&>(*tokens[i].sampler).sample(scores[i]));
  }
  return result;
}

/// @param scores  of each row that has a sampler; with kOk
DecodeStatus FakeExecutor::run(std::span<const TokenRow> tokens, std::span<const VisualRows> visual,
                               const ShouldStop& stop, std::vector<std::vector<float>>& scores) {
  const Call call = visual.empty() ? Call::kDecodeTokens : Call::kDecodeVisual;
  const auto planned = planned_status(call, stop);
  if (availability() == Availability::kLost) return DecodeStatus::kLost;
  if (!is_valid(tokens, visual)) return DecodeStatus::kInvalidBatch;
  const int n_used = n_kv_cells_used_;
  // On a copy, so that an invalid batch computes nothing.
  std::vector<SequenceState> after = sequences_;
  scores.resize(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    SequenceState& state = after[static_cast<std::size_t>(tokens[i].sequence.value)];
    if (!is_valid(tokens[i], state)) return DecodeStatus::kInvalidBatch;
    take(tokens[i], state);
    if (tokens[i].sampler != nullptr) {
      scores[i].resize(static_cast<std::size_t>(kVocabularySize));
      state.transcript.write_logits(scores[i]);
    }
  }
  for (const VisualRows& slice : visual) {
    SequenceState& state = after[static_cast<std::size_t>(slice.sequence.value)];
    if (!is_valid(slice, state)) return DecodeStatus::kInvalidBatch;
    take(slice, slice.n_rows(), state);
  }
  if (planned == DecodeStatus::kNoKvSlot || planned == DecodeStatus::kInvalidBatch) return *planned;
  if (n_used + n_rows(tokens, visual) > n_kv_cells_) return DecodeStatus::kNoKvSlot;
  if (!planned) {
    sequences_ = std::move(after);
    return DecodeStatus::kOk;
  }
  for (const TokenRow& row : tokens.first(tokens.size() / 2)) take(row, state_of(row.sequence));
  for (const VisualRows& slice : visual) take(slice, slice.n_rows() / 2, state_of(slice.sequence));
  return *planned;
}

Availability FakeExecutor::availability() {
  return n_losses_ == control_->n_losses() ? Availability::kReady : Availability::kLost;
}

void FakeExecutor::forget() {
  n_losses_ = control_->n_losses();
  for (SequenceState& state : sequences_) state = SequenceState{};
  aside_.clear();
}

void FakeExecutor::share(SequenceId from, SequenceId to, const KvRange& range) {
  check_thread();
  if (!is_known(from) || !is_known(to)) return;
  const SequenceState& source = state_of(from);
  SequenceState& target = state_of(to);
  const auto first = static_cast<std::size_t>(range.first_token);
  const std::size_t end = first + static_cast<std::size_t>(range.n_tokens);
  const bool fits = can_share_ && from != to && range.n_tokens > 0 &&
                    target.cells.size() == first && end <= source.cells.size() &&
                    target.n_unfinished == 0;
  if (!fits || source.cells[end - 1]->is_inside ||
      source.cells[end - 1]->next_position != range.end || target.next_position != range.begin) {
    refuse("share: " + std::to_string(range.n_tokens) + " tokens of " +
           std::to_string(source.cells.size()) + ", after " + std::to_string(target.cells.size()));
    return;
  }
  const auto begin = source.cells.begin();
  target.cells.insert(target.cells.end(), begin + range.first_token,
                      begin + range.first_token + range.n_tokens);
  target.transcript = target.cells.back()->transcript;
  target.next_position = range.end;
}

void FakeExecutor::remove(SequenceId sequence) {
  check_thread();
  if (is_known(sequence)) state_of(sequence) = SequenceState{};
  aside_.erase(sequence);
}

bool FakeExecutor::set_aside(SequenceId sequence) {
  check_thread();
  if (!control_->check(Call::kSetAside, "", "") || !is_known(sequence)) return false;
  SequenceState& state = state_of(sequence);
  if (state.cells.empty()) return refuse("set_aside: a sequence without cells");
  Aside aside;
  for (const auto& cell : state.cells) {
    aside.cells.push_back({cell->transcript, cell->next_position, cell->is_inside});
  }
  aside.rest = std::exchange(state, {});
  aside.rest.cells.clear();
  aside_[sequence] = std::move(aside);
  return true;
}

bool FakeExecutor::bring_back(SequenceId sequence) {
  check_thread();
  auto aside = aside_.extract(sequence);
  if (!control_->check(Call::kBringBack, "", "")) return false;
  if (aside.empty() || !state_of(sequence).cells.empty()) {
    return refuse("bring_back: nothing was set aside, or something came after it");
  }
  auto& [cells, rest] = aside.mapped();
  if (n_kv_cells_used_ + static_cast<int>(cells.size()) > n_kv_cells_) {
    return refuse("bring_back: too few cells");
  }
  for (const CellCopy& cell : cells) {
    rest.cells.push_back(std::make_shared<const Cell>(n_kv_cells_used_, cell.transcript,
                                                      cell.next_position, cell.is_inside));
  }
  state_of(sequence) = std::move(rest);
  return true;
}

int FakeExecutor::n_kv_cells_used() const {
  check_thread();
  return n_kv_cells_used_;
}

void FakeExecutor::check_thread() const {
  if (thread_.value_or(std::this_thread::get_id()) != std::this_thread::get_id()) {
    refuse("executor: called from two threads");
  }
  thread_ = std::this_thread::get_id();
}

bool FakeExecutor::refuse(const std::string& message) const {
  control_->violation(message);
  return false;
}

bool FakeExecutor::is_known(SequenceId sequence) const {
  if (sequence.value >= 0 && sequence.value < n_sequences_max()) return true;
  return refuse("sequence " + std::to_string(sequence.value) + " of " +
                std::to_string(n_sequences_max()));
}

bool FakeExecutor::is_valid(std::span<const TokenRow> tokens,
                            std::span<const VisualRows> visual) const {
  std::vector<SequenceId> with_text;
  for (const TokenRow& row : tokens) {
    if (!is_known(row.sequence)) return false;
    with_text.push_back(row.sequence);
  }
  for (const VisualRows& slice : visual) {
    if (!is_known(slice.sequence)) return false;
    if (std::ranges::find(with_text, slice.sequence) != with_text.end()) {
      return refuse("decode: text and visual rows of one sequence");
    }
    if (slice.non_causal && (visual.size() != 1 || !is_valid_beside(tokens, slice))) {
      return refuse("decode: a non-causal slice among others");
    }
  }
  const int n = n_rows(tokens, visual);
  if (n < 1 || n > n_rows_max_) {
    return refuse("decode: " + std::to_string(n) + " rows, between 1 and " +
                  std::to_string(n_rows_max_) + " fit");
  }
  return can_mix_ || tokens.empty() || visual.empty() || refuse("decode: rows of both kinds");
}

/// Everybody else has one row.
bool FakeExecutor::is_valid_beside(std::span<const TokenRow> tokens,
                                   const VisualRows& non_causal) const {
  std::set<SequenceId> with_row{non_causal.sequence};
  return std::ranges::all_of(
      tokens, [&](const TokenRow& row) { return with_row.insert(row.sequence).second; });
}

bool FakeExecutor::is_valid(const TokenRow& row, const SequenceState& state) const {
  if (row.token < 0 || row.token >= kVocabularySize) return refuse("decode: unknown token");
  if (state.n_unfinished > 0) return refuse("decode: text inside a visual segment");
  if (row.position != state.next_position) {
    return refuse("decode: position " + std::to_string(row.position) + " after " +
                  std::to_string(state.next_position - 1));
  }
  return true;
}

bool FakeExecutor::is_valid(const VisualRows& slice, const SequenceState& state) const {
  const ModelInfo& info = model_->info();
  if (slice.rows.size() !=
      slice.positions.size() * static_cast<std::size_t>(info.embedding_row_width)) {
    return refuse("decode: rows of another width");
  }
  if (slice.n_rows() < 1 || slice.first_row < 0 ||
      slice.first_row + slice.n_rows() > slice.n_segment_rows) {
    return refuse("decode: rows outside of the segment");
  }
  if (slice.non_causal && slice.n_rows() != slice.n_segment_rows) {
    return refuse("decode: a non-causal slice must be whole");
  }
  const bool continues = state.n_unfinished > 0;
  if (continues ? (state.n_unfinished != slice.n_segment_rows || slice.first_row != state.next_row)
                : slice.first_row != 0) {
    return refuse("decode: rows do not continue");
  }
  const Position base = continues && info.uses_mrope ? state.segment_position : state.next_position;
  for (int i = 0; i < slice.n_rows(); ++i) {
    const VisualPosition& position = slice.positions[static_cast<std::size_t>(i)];
    const bool fits = info.uses_mrope
                          ? position[0] == base && position[1] >= base && position[2] >= base
                          : position[0] == base + i;
    if (!fits) return refuse("decode: positions do not continue");
  }
  return true;
}

void FakeExecutor::take(const TokenRow& row, SequenceState& state) {
  state.next_position = row.position + 1;
  state.transcript.take_token(row.token, row.position);
  state.cells.push_back(std::make_shared<const Cell>(n_kv_cells_used_, state.transcript,
                                                     state.next_position, /*is_inside=*/false));
}

void FakeExecutor::take(const VisualRows& slice, int n_rows, SequenceState& state) {
  const std::size_t width = slice.rows.size() / slice.positions.size();
  if (slice.first_row == 0) state.segment_position = state.next_position;
  for (int i = 0; i < n_rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const VisualPosition& position = slice.positions[row];
    state.transcript.take_row(slice.rows.subspan(row * width, width), position);
    state.next_position =
        std::max(state.next_position, *std::max_element(position.begin(), position.end()) + 1);
    state.cells.push_back(
        std::make_shared<const Cell>(n_kv_cells_used_, state.transcript, state.next_position,
                                     slice.first_row + i + 1 < slice.n_segment_rows));
  }
  state.next_row = slice.first_row + n_rows;
  state.n_unfinished = state.next_row < slice.n_segment_rows ? slice.n_segment_rows : 0;
}

FakeExecutor::SequenceState& FakeExecutor::state_of(SequenceId sequence) {
  return sequences_[static_cast<std::size_t>(sequence.value)];
}

std::optional<DecodeStatus> FakeExecutor::planned_status(Call call, const ShouldStop& stop) {
  const auto effect = control_->count(call);
  if (!effect) return std::nullopt;
  switch (*effect) {
    case Effect::kNoKvSlot:
      return DecodeStatus::kNoKvSlot;
    case Effect::kAborted:
      return DecodeStatus::kAborted;
    case Effect::kInvalidBatch:
      return DecodeStatus::kInvalidBatch;
    case Effect::kLost:
      return DecodeStatus::kLost;
    case Effect::kSlow:
      control_->hold({});
      return std::nullopt;
    case Effect::kUntilStopped:
      while (!stop || !stop()) std::this_thread::yield();
      return DecodeStatus::kAborted;
    case Effect::kError:
    case Effect::kCancelled:
    case Effect::kFatal:
    case Effect::kDies:
      return DecodeStatus::kFatal;
  }
  return DecodeStatus::kFatal;
}

}  // namespace tessera::runtime::fake
