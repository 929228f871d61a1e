// runtime::Model on libllama and libmtmd: weights, vocabulary, chat template, placeholders and
// preprocessing. Owns what Encoder and Executor share.
#pragma once

#include <string>
#include <vector>

#include "runtime/llama/core_share.h"
#include "runtime/llama/encoder_device.h"
#include "runtime/llama/handles.h"
#include "runtime/llama/overview_cut.h"
#include "runtime/llama/special_tokens.h"
#include "runtime/runtime.h"

struct common_chat_templates;
void common_chat_templates_free(common_chat_templates* templates);

namespace tessera::runtime::llama {

using TemplatesHandle = std::unique_ptr<common_chat_templates, Deleter<common_chat_templates_free>>;

/// Immutable after load(). The mtmd_context is used for tokenizing from any thread (thread-safe in
/// the library) and for encoding by the Encoder alone.
/// @thread every const method from any thread
class LlamaModel final : public Model {
 public:
  /// Reads both files. Native messages of the load go to stderr.
  /// @errors  not_found (no such file); invalid_argument (not a model, or the two do not fit)
  static Result<std::shared_ptr<LlamaModel>> load(const LoadOptions& options);

  const ModelInfo& info() const override { return info_; }
  Result<std::vector<PromptPart>> apply_chat_template(
      std::span<const Message> messages) const override;
  Result<Prompt> tokenize(std::span<const PromptPart> parts,
                          std::span<const ImageInput> images) const override;
  Result<std::vector<std::unique_ptr<PreparedTile>>> prepare(const Image& image) const override;
  std::string piece(TokenId token) const override;
  Result<std::unique_ptr<Sampler>> make_sampler(const SamplerOptions& options) const override;

  llama_model* native() const { return model_.get(); }
  const llama_vocab* vocabulary() const { return llama_model_get_vocab(model_.get()); }
  mtmd_context* vision() const { return vision_.get(); }
  CoreShare& cores() const { return *cores_; }
  EncoderDevice& encoder_device() const { return *encoder_device_; }
  /// Whether several tiles of one shape are encoded at once.
  bool takes_tile_batches() const { return takes_tile_batches_; }
  /// Rows of one model call; a non-causal image must fit into one.
  int n_rows_max() const { return n_rows_max_; }

 private:
  LlamaModel() = default;
  Result<void> check_place(ImageSize size) const;
  Result<SegmentsHandle> run_mtmd(std::span<const Run> runs,
                                  std::span<const BitmapHandle> bitmaps) const;
  Result<Prompt> tokenize_text(std::span<const Run> runs) const;
  Result<Prompt> to_prompt(const mtmd_input_chunks& native,
                           std::span<const ImageInput> images) const;
  Result<void> add_image(Prompt& prompt, const mtmd_input_chunk& native) const;
  Result<VisualSegment> to_visual(const mtmd_input_chunk& native, Position start) const;
  void add_to_plan(VisualSegment& segment, ImagePlan& plan) const;
  Result<void> load_vision(const LoadOptions& options);
  Result<void> describe(const LoadOptions& options);

  std::unique_ptr<CoreShare> cores_;
  std::unique_ptr<EncoderDevice> encoder_device_;
  ModelHandle model_;
  MtmdHandle vision_;  // null for a text-only model
  TemplatesHandle templates_;
  SpecialTokens special_tokens_;
  OverviewCut overview_;
  ModelInfo info_;
  bool takes_tile_batches_ = false;
  int patches_per_token_side_ = 1;
  int n_rows_max_ = 0;
};

/// One tile as libmtmd prepared it. Tiles of one image share the native container.
struct LlamaTile final : PreparedTile {
  std::shared_ptr<const mtmd_input_chunks> owner;
  const mtmd_input_chunk* native = nullptr;

  int n_tokens() const override { return static_cast<int>(mtmd_input_chunk_get_n_tokens(native)); }
};

}  // namespace tessera::runtime::llama
