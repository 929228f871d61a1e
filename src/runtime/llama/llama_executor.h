// runtime::Executor on llama_context: one unified KV cache; batches of token ids, or of rows.
//
// libllama takes ids or rows in a call, never both. Text goes beside an image as rows of the token
// embedding matrix, where that is the same to the model: at start a short prompt is run as ids and
// as rows, and unless the scores agree, calls are of one kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/kv_cells.h"
#include "runtime/llama/llama_model.h"
#include "runtime/llama/token_embeddings.h"

namespace tessera::runtime::llama {

/// @thread engine thread only
class LlamaExecutor final : public Executor {
 public:
  /// @errors  resource_exhausted (no memory for this KV cache)
  static Result<std::unique_ptr<Executor>> make(std::shared_ptr<LlamaModel> model,
                                                const LoadOptions& options);

  int n_sequences_max() const override { return n_sequences_max_; }
  int n_kv_cells() const override { return n_kv_cells_; }
  int n_rows_max() const override { return n_rows_max_; }
  bool can_mix() const override { return token_embeddings_.has_value(); }
  CallResult decode(std::span<const TokenRow> tokens, std::span<const VisualRows> visual,
                    const ShouldStop& stop) override;
  void anticipate() override;
  bool can_share() const override { return can_share_; }
  void share(SequenceId from, SequenceId to, const KvRange& range) override;
  void remove(SequenceId sequence) override;
  bool set_aside(SequenceId sequence) override;
  bool bring_back(SequenceId sequence) override;
  int n_kv_cells_used() const override { return cells_.n_used(); }

  /// Scores after row `row` of the last call's tokens, which must have had a sampler. Valid until
  /// the next call.
  /// @return  [n_vocabulary] f32
  std::span<const float> logits(int row) const;

 private:
  LlamaExecutor(std::shared_ptr<LlamaModel> model, int n_sequences_max);

  /// What the library writes of a sequence, and how many tokens that is.
  struct Copy {
    std::unique_ptr<std::uint8_t[]> bytes;
    std::size_t n_bytes = 0;
    int n_tokens = 0;
  };

  static bool on_abort_check(void* self);
  /// Whether the model scores a prompt that comes as rows as it scores its ids.
  bool rows_equal_ids();
  DecodeStatus run(std::span<const TokenRow> tokens, std::span<const VisualRows> visual,
                   const ShouldStop& stop);
  bool takes_anticipated(std::span<const TokenRow> tokens, std::span<const VisualRows> visual);
  void take_back_anticipated();
  DecodeStatus decode_ids(std::span<const TokenRow> tokens);
  DecodeStatus decode_rows(std::span<const TokenRow> tokens, std::span<const VisualRows> visual);
  DecodeStatus run_native(llama_batch batch);
  void reserve_rows(std::size_t n_rows);
  void set_row(std::size_t row, const TokenRow& token);
  void copy_slice(std::size_t first_row, std::size_t n_rows, const VisualRows& slice);
  /// Of a row's position in a batch of rows.
  std::size_t n_axes() const { return model_->info().uses_mrope ? 4 : 1; }

  std::shared_ptr<LlamaModel> model_;
  ContextHandle context_;
  const int n_sequences_max_;
  int n_rows_max_;  // the library lowers it to the cells
  int n_kv_cells_ = 0;
  bool can_share_ = false;
  std::optional<TokenEmbeddings> token_embeddings_;  // none: calls are of one kind
  bool pinned_ = false;
  const ShouldStop* stop_ = nullptr;  // of the call that runs

  // One row each; rebuilt for every call.
  std::vector<llama_token> tokens_;
  std::vector<float> embeddings_;     // [n_rows][embedding_row_width]
  std::vector<llama_pos> positions_;  // [n_rows], or [4][n_rows] for M-RoPE rows
  std::vector<std::int32_t> n_sequence_ids_;
  std::vector<llama_seq_id> sequence_ids_;
  std::vector<llama_seq_id*> sequence_id_pointers_;
  std::vector<std::int8_t> wants_logits_;

  KvCells cells_;
  std::map<SequenceId, Copy> set_aside_;  // ≤ n_sequences_max
  std::vector<TokenRow> next_;            // what the last call lets one expect; samplers borrowed
  std::vector<TokenRow> anticipated_;     // of them, what is computed; empty = nothing
};

}  // namespace tessera::runtime::llama
