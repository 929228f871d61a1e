// The fake's Model: chat template, byte tokenizer, segments and positions.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/fake/fake_runtime.h"

namespace tessera::runtime::fake {

/// @thread every method from any thread
class FakeModel final : public Model {
 public:
  FakeModel(FakeOptions options, std::shared_ptr<FakeControl> control);

  const ModelInfo& info() const override { return info_; }
  Result<std::vector<PromptPart>> apply_chat_template(
      std::span<const Message> messages) const override;
  Result<Prompt> tokenize(std::span<const PromptPart> parts,
                          std::span<const ImageInput> images) const override;
  Result<std::vector<std::unique_ptr<PreparedTile>>> prepare(const Image& image) const override;
  std::string piece(TokenId token) const override;
  Result<std::unique_ptr<Sampler>> make_sampler(const SamplerOptions& options) const override;

 private:
  const FakeOptions options_;
  const std::shared_ptr<FakeControl> control_;
  ModelInfo info_;
};

}  // namespace tessera::runtime::fake
