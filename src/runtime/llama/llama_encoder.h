// runtime::Encoder on libmtmd: one tile at a time on the encode thread.
#pragma once

#include <memory>

#include "runtime/llama/llama_model.h"

namespace tessera::runtime::llama {

/// @thread encode thread only
class LlamaEncoder final : public Encoder {
 public:
  explicit LlamaEncoder(std::shared_ptr<LlamaModel> model) : model_(std::move(model)) {}

  Result<Embedding> encode(const PreparedTile& tile, const std::stop_token& stop) override;

 private:
  std::shared_ptr<LlamaModel> model_;
  bool pinned_ = false;
};

}  // namespace tessera::runtime::llama
