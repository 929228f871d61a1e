// runtime::Sampler on libllama's sampler chain and grammars.
#pragma once

#include <vector>

#include "runtime/llama/handles.h"
#include "runtime/runtime.h"

namespace tessera::runtime::llama {

class LlamaModel;

/// Temperature 0 is greedy: the first of the highest scores, no chain. With a grammar the token is
/// chosen first and then checked; only when the grammar refuses it is the whole vocabulary masked,
/// which is far cheaper than masking it each time.
/// @thread engine thread only
class LlamaSampler final : public Sampler {
 public:
  /// @param model  must outlive the sampler
  /// @errors       invalid_argument (a JSON schema that has no grammar)
  static Result<std::unique_ptr<Sampler>> make(const LlamaModel& model,
                                               const SamplerOptions& options);

  /// Chooses the next token and advances the state.
  /// @param logits  [n_vocabulary] f32
  /// @errors        internal (the native sampler failed)
  Result<SampledToken> sample(std::span<const float> logits);

 private:
  LlamaSampler(const LlamaModel& model, const SamplerOptions& options)
      : model_(model), options_(options) {}

  void build_chain();
  /// Chooses from `logits` with the chain, over what the grammar allows when `masked`.
  TokenId choose(std::span<const float> logits, bool masked);
  bool grammar_allows(TokenId token);
  void add_logprobs(std::span<const float> logits, SampledToken& sampled) const;

  const LlamaModel& model_;
  const SamplerOptions options_;
  SamplerHandle chain_;    // null = greedy
  SamplerHandle grammar_;  // null = free text
  std::vector<llama_token_data> candidates_;
};

}  // namespace tessera::runtime::llama
