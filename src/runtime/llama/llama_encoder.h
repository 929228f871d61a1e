// runtime::Encoder on libmtmd, on the encode thread.
#pragma once

#include <memory>

#include "runtime/llama/llama_model.h"

namespace tessera::runtime::llama {

/// @thread encode thread only
class LlamaEncoder final : public Encoder {
 public:
  explicit LlamaEncoder(std::shared_ptr<LlamaModel> model) : model_(std::move(model)) {}

  Result<Embedding> encode(const PreparedTile& tile, const ShouldStop& stop) override;
  bool takes_batches() const override { return model_->takes_tile_batches(); }
  Result<std::vector<Embedding>> encode_batch(std::span<const PreparedTile* const> tiles,
                                              const ShouldStop& stop) override;

 private:
  template <typename NativeCall>
  Result<void> run(NativeCall&& call, const ShouldStop& stop);
  Embedding embedding_of(const PreparedTile& tile, const float* rows) const;

  std::shared_ptr<LlamaModel> model_;
  bool pinned_ = false;
};

}  // namespace tessera::runtime::llama
