#include "runtime/llama/llama_executor.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "core/check.h"
#include "runtime/llama/llama_sampler.h"

namespace tessera::runtime::llama {
namespace {

DecodeStatus to_status(int code) {
  if (code == 0) return DecodeStatus::kOk;
  if (code == 1) return DecodeStatus::kNoKvSlot;
  if (code == 2) return DecodeStatus::kAborted;
  return code == -1 ? DecodeStatus::kInvalidBatch : DecodeStatus::kFatal;
}

/// A prompt of the test at start: enough that attention and positions count.
constexpr int kTestPromptTokens = 32;

/// On a CPU the same rows give the same scores to the last bit. Little more is allowed: text that
/// is numbered wrongly along two of three axes moved the bundled model's scores by 0.005.
constexpr float kScoreTolerance = 1e-4F;

/// libllama's own record of one cell: position, sequence set (256 bits) and its indices.
constexpr std::int64_t kCellRecordBytes = 64;

/// Bytes that a cache of `n_cells` takes at least. Families whose layers do not all keep every
/// token count with their records only.
std::int64_t cache_bytes_min(const LlamaModel& model, std::int64_t n_cells) {
  const llama_model* native = model.native();
  const bool keeps_all = llama_model_n_swa(native) == 0 && !llama_model_is_hybrid(native) &&
                         !llama_model_is_recurrent(native);
  const LanguageShape& shape = model.info().language;
  const std::int64_t f16_values =
      std::int64_t{2} * shape.n_layers * shape.n_kv_heads * shape.head_dim;
  return n_cells * (kCellRecordBytes + (keeps_all ? 2 * f16_values : 0));
}

std::int64_t memory_bytes() {
  return std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
}

/// The library gives each sequence a row of output for each step, and asserts that they fit.
Result<void> check_cells(int n_cells, int n_sequences) {
  if (n_cells >= n_sequences) return {};
  return make_error(ErrorCode::kInvalidArgument, "kv_cache_too_small",
                    "a KV cache of " + std::to_string(n_cells) + " cells is too small for " +
                        std::to_string(n_sequences) +
                        " sequences: raise kv_cells (two contexts, unless set) or lower sequences");
}

/// The library would touch the memory at once, so that the system would end the process.
Result<void> check_memory(const LlamaModel& model, int n_cells) {
  const std::int64_t needed = cache_bytes_min(model, n_cells);
  const std::int64_t limit = memory_bytes();
  if (needed <= limit) return {};
  constexpr std::int64_t kMebi = 1 << 20;
  return make_error(ErrorCode::kResourceExhausted, "kv_cache_too_large",
                    "a KV cache of " + std::to_string(n_cells) + " cells needs " +
                        std::to_string(needed / kMebi) + " MiB; this machine has " +
                        std::to_string(limit / kMebi));
}

}  // namespace

LlamaExecutor::LlamaExecutor(std::shared_ptr<LlamaModel> model, int n_sequences_max)
    : model_(std::move(model)),
      n_sequences_max_(n_sequences_max),
      n_rows_max_(model_->n_rows_max()),
      cells_(n_sequences_max) {}

Result<std::unique_ptr<Executor>> LlamaExecutor::make(std::shared_ptr<LlamaModel> model,
                                                      const LoadOptions& options) {
  const int n_sequences =
      std::clamp(options.n_sequences_max, 1, static_cast<int>(llama_max_parallel_sequences()));
  const int n_cells =
      options.n_kv_cells > 0 ? options.n_kv_cells : model->info().context_length * 2;
  TSR_RETURN_IF_ERROR(check_cells(n_cells, n_sequences));
  TSR_RETURN_IF_ERROR(check_memory(*model, n_cells));
  std::unique_ptr<LlamaExecutor> self(new LlamaExecutor(std::move(model), n_sequences));

  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(n_cells);
  params.n_batch = static_cast<std::uint32_t>(self->n_rows_max());
  params.n_ubatch = params.n_batch;
  // The true maximum: a sequence id beyond it is accepted in a unified cache and then cannot be
  // saved or restored.
  params.n_seq_max = static_cast<std::uint32_t>(n_sequences);
  params.kv_unified = true;
  params.n_threads = self->model_->cores().n_cores();
  params.n_threads_batch = params.n_threads;
  params.no_perf = true;
  self->context_.reset(llama_init_from_model(self->model_->native(), params));
  if (self->context_ == nullptr) {
    return make_error(ErrorCode::kResourceExhausted, "kv_cache_too_large",
                      "a KV cache of " + std::to_string(n_cells) + " cells cannot be made");
  }
  const llama_model* native = self->model_->native();
  self->can_share_ = llama_model_n_swa(native) == 0 && !llama_model_is_hybrid(native) &&
                     !llama_model_is_recurrent(native);
  llama_set_abort_callback(self->context_.get(), &LlamaExecutor::on_abort_check, self.get());
  self->n_rows_max_ = static_cast<int>(llama_n_batch(self->context_.get()));
  // The library rounds up.
  self->n_kv_cells_ = static_cast<int>(llama_n_ctx(self->context_.get()));
  if (self->model_->info().has_vision) {
    self->token_embeddings_ = TokenEmbeddings::open(options.model_path, native);
  }
  if (self->can_mix() && !self->rows_equal_ids()) self->token_embeddings_.reset();
  return std::unique_ptr<Executor>(std::move(self));
}

void LlamaExecutor::reserve_rows(std::size_t n_rows) {
  n_sequence_ids_.assign(n_rows, 1);
  sequence_ids_.resize(n_rows);
  sequence_id_pointers_.resize(n_rows);
  for (std::size_t i = 0; i < n_rows; ++i) sequence_id_pointers_[i] = &sequence_ids_[i];
  wants_logits_.assign(n_rows, 0);
}

DecodeStatus LlamaExecutor::run_native(llama_batch batch) {
  if (!pinned_) {
    model_->cores().pin_language_thread();
    pinned_ = true;
  }
  const int n_cores = model_->cores().begin_language();
  const int n_threads =
      threads_worth(model_->info().language.n_parameters, batch.n_tokens, n_cores);
  llama_set_n_threads(context_.get(), n_threads, n_threads);
  ggml_threadpool* pool = model_->cores().language_pool(n_threads);
  llama_attach_threadpool(context_.get(), pool, pool);
  const DecodeStatus status = to_status(llama_decode(context_.get(), batch));
  // The call returns before the last node is computed on asynchronous backends; its time belongs
  // to this call.
  llama_synchronize(context_.get());
  model_->cores().end_language();
  return status;
}

CallResult LlamaExecutor::decode(std::span<const TokenRow> tokens,
                                 std::span<const VisualRows> visual, const ShouldStop& stop) {
  TSR_CHECK(tokens.empty() || visual.empty() || can_mix());
  CallResult result;
  result.status = takes_anticipated(tokens, visual) ? DecodeStatus::kOk : run(tokens, visual, stop);
  next_.clear();
  if (result.status != DecodeStatus::kOk) return result;
  for (const TokenRow& row : tokens) cells_.add(row.sequence);
  for (const VisualRows& slice : visual) {
    for (int i = 0; i < slice.n_rows(); ++i) cells_.add(slice.sequence);
  }
  bool only_decodes = visual.empty();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const TokenRow& row = tokens[i];
    only_decodes = only_decodes && row.sampler != nullptr;
    if (row.sampler == nullptr) continue;
    auto& sampler = static_cast<LlamaSampler&>(*row.sampler);
    result.sampled.push_back(sampler.sample(logits(static_cast<int>(i))));
    const auto& sampled = result.sampled.back();
    if (sampled && !sampled->ends_generation) {
      next_.push_back({row.sequence, sampled->token, row.position + 1, row.sampler});
    }
  }
  // Prompts that are prefilled beside it have more rows in the next call, nobody knows which.
  if (!only_decodes) next_.clear();
  return result;
}

DecodeStatus LlamaExecutor::run(std::span<const TokenRow> tokens,
                                std::span<const VisualRows> visual, const ShouldStop& stop) {
  stop_ = &stop;
  const DecodeStatus status = visual.empty() ? decode_ids(tokens) : decode_rows(tokens, visual);
  stop_ = nullptr;
  return status;
}

void LlamaExecutor::anticipate() {
  // A cache that forgets or keeps a state of its own cannot take rows back.
  if (!can_share_ || next_.empty()) return;
  anticipated_ = std::exchange(next_, {});
  if (run(anticipated_, {}, {}) != DecodeStatus::kOk) take_back_anticipated();
}

/// Whether the rows of a call are computed already. Takes back those that are, if it is another.
bool LlamaExecutor::takes_anticipated(std::span<const TokenRow> tokens,
                                      std::span<const VisualRows> visual) {
  if (anticipated_.empty()) return false;
  const bool same = visual.empty() && std::ranges::equal(tokens, anticipated_);
  if (same) {
    anticipated_.clear();
  } else {
    take_back_anticipated();
  }
  return same;
}

void LlamaExecutor::take_back_anticipated() {
  for (const TokenRow& row : anticipated_) {
    llama_memory_seq_rm(llama_get_memory(context_.get()), row.sequence.value, row.position, -1);
  }
  anticipated_.clear();
}

bool LlamaExecutor::on_abort_check(void* self) {
  const ShouldStop* stop = static_cast<LlamaExecutor*>(self)->stop_;
  return stop != nullptr && *stop && (*stop)();
}

DecodeStatus LlamaExecutor::decode_ids(std::span<const TokenRow> tokens) {
  TSR_CHECK(!tokens.empty() && tokens.size() <= static_cast<std::size_t>(n_rows_max()));
  reserve_rows(tokens.size());
  tokens_.resize(tokens.size());
  positions_.resize(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    set_row(i, tokens[i]);
    tokens_[i] = tokens[i].token;
    positions_[i] = tokens[i].position;
  }
  llama_batch batch{};
  batch.n_tokens = static_cast<std::int32_t>(tokens.size());
  batch.token = tokens_.data();
  batch.pos = positions_.data();
  batch.n_seq_id = n_sequence_ids_.data();
  batch.seq_id = sequence_id_pointers_.data();
  batch.logits = wants_logits_.data();
  return run_native(batch);
}

/// The text rows come first, so that their scores have the same index as without visual ones.
DecodeStatus LlamaExecutor::decode_rows(std::span<const TokenRow> tokens,
                                        std::span<const VisualRows> visual) {
  std::size_t n_rows = tokens.size();
  bool non_causal = false;
  for (const VisualRows& slice : visual) {
    n_rows += slice.positions.size();
    non_causal = non_causal || slice.non_causal;
  }
  TSR_CHECK(n_rows > 0 && n_rows <= static_cast<std::size_t>(n_rows_max()));
  TSR_CHECK(!non_causal || visual.size() == 1);

  const auto width = static_cast<std::size_t>(model_->info().embedding_row_width);
  reserve_rows(n_rows);
  embeddings_.resize(n_rows * width);
  positions_.assign(n_rows * n_axes(), 0);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    set_row(i, tokens[i]);
    // An id outside of the vocabulary, as the library calls it too; nothing was computed.
    if (!token_embeddings_->read(tokens[i].token, embeddings_.data() + i * width)) {
      return DecodeStatus::kInvalidBatch;
    }
    // Text is numbered the same along time, height and width; the fourth axis is not used.
    for (std::size_t axis = 0; axis < std::min<std::size_t>(n_axes(), 3); ++axis) {
      positions_[axis * n_rows + i] = tokens[i].position;
    }
  }
  std::size_t row = tokens.size();
  for (const VisualRows& slice : visual) {
    copy_slice(row, n_rows, slice);
    row += slice.positions.size();
  }
  llama_batch batch{};
  batch.n_tokens = static_cast<std::int32_t>(n_rows);
  batch.embd = embeddings_.data();
  batch.pos = positions_.data();
  batch.n_seq_id = n_sequence_ids_.data();
  batch.seq_id = sequence_id_pointers_.data();
  batch.logits = wants_logits_.data();
  if (non_causal) llama_set_causal_attn(context_.get(), false);
  const DecodeStatus status = run_native(batch);
  if (non_causal) llama_set_causal_attn(context_.get(), true);
  return status;
}

void LlamaExecutor::set_row(std::size_t row, const TokenRow& token) {
  TSR_CHECK(token.sequence.value >= 0 && token.sequence.value < n_sequences_max_);
  sequence_ids_[row] = token.sequence.value;
  wants_logits_[row] = token.sampler != nullptr ? 1 : 0;
}

/// To row `first_row` of a batch of `n_rows`.
void LlamaExecutor::copy_slice(std::size_t first_row, std::size_t n_rows, const VisualRows& slice) {
  TSR_CHECK(slice.sequence.value >= 0 && slice.sequence.value < n_sequences_max_);
  const auto width = static_cast<std::size_t>(model_->info().embedding_row_width);
  const std::size_t n = slice.positions.size();
  TSR_CHECK(slice.rows.size() == n * width);
  std::ranges::copy(slice.rows, embeddings_.data() + first_row * width);
  for (std::size_t i = 0; i < n; ++i) {
    sequence_ids_[first_row + i] = slice.sequence.value;
    for (std::size_t axis = 0; axis < n_axes(); ++axis) {
      positions_[axis * n_rows + first_row + i] = slice.positions[i][axis];
    }
  }
}

/// The first ids of the vocabulary, which every model has. Kernels are the same for both calls, so
/// a difference is more than noise.
bool LlamaExecutor::rows_equal_ids() {
  Sampler never_asked;  // only says that there are to be scores
  std::vector<TokenRow> prompt;
  const int n = std::min({kTestPromptTokens, model_->info().n_vocabulary, n_rows_max()});
  for (int i = 0; i < n; ++i) prompt.push_back({SequenceId{0}, i, i, nullptr});
  prompt.back().sampler = &never_asked;
  const auto scores = [&](DecodeStatus status) -> std::vector<float> {
    std::vector<float> copy;
    if (status == DecodeStatus::kOk) {
      const auto last = logits(n - 1);
      copy.assign(last.begin(), last.end());
    }
    remove(SequenceId{0});
    return copy;
  };
  pinned_ = true;  // only the engine's thread is to be, and this is another
  const std::vector<float> of_ids = scores(decode_ids(prompt));
  const std::vector<float> of_rows = scores(decode_rows(prompt, {}));
  pinned_ = false;
  if (of_ids.empty() || of_rows.size() != of_ids.size()) return false;
  for (std::size_t i = 0; i < of_ids.size(); ++i) {
    // Not ≥: a NaN is no agreement.
    if (!(std::abs(of_ids[i] - of_rows[i]) <= kScoreTolerance)) return false;
  }
  return true;
}

std::span<const float> LlamaExecutor::logits(int row) const {
  const float* scores = llama_get_logits_ith(context_.get(), row);
  TSR_CHECK(scores != nullptr);
  return {scores, static_cast<std::size_t>(model_->info().n_vocabulary)};
}

void LlamaExecutor::remove(SequenceId sequence) {
  take_back_anticipated();
  llama_memory_seq_rm(llama_get_memory(context_.get()), sequence.value, -1, -1);
  cells_.remove(sequence);
  set_aside_.erase(sequence);
}

bool LlamaExecutor::set_aside(SequenceId sequence) {
  take_back_anticipated();
  Copy copy;
  copy.n_bytes = llama_state_seq_get_size(context_.get(), sequence.value);
  copy.n_tokens = cells_.n_of(sequence);
  copy.bytes.reset(new (std::nothrow) std::uint8_t[copy.n_bytes]);
  if (copy.bytes == nullptr) return false;
  const std::size_t n_written =
      llama_state_seq_get_data(context_.get(), copy.bytes.get(), copy.n_bytes, sequence.value);
  if (n_written != copy.n_bytes) return false;
  remove(sequence);
  set_aside_.emplace(sequence, std::move(copy));
  return true;
}

bool LlamaExecutor::bring_back(SequenceId sequence) {
  const auto copy = set_aside_.extract(sequence);
  remove(sequence);
  if (copy.empty()) return false;
  const auto& [bytes, n_bytes, n_tokens] = copy.mapped();
  if (llama_state_seq_set_data(context_.get(), bytes.get(), n_bytes, sequence.value) == 0) {
    remove(sequence);
    return false;
  }
  for (int i = 0; i < n_tokens; ++i) cells_.add(sequence);
  return true;
}

void LlamaExecutor::share(SequenceId from, SequenceId to, const KvRange& range) {
  TSR_CHECK(can_share_);
  take_back_anticipated();
  cells_.share(from, to, range);
  llama_memory_seq_cp(llama_get_memory(context_.get()), from.value, to.value, range.begin,
                      range.end);
}

}  // namespace tessera::runtime::llama
