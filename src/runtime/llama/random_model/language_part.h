// The language half of a random model: one of three architectures of libllama, which between them
// have every way to number the positions of visual tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/llama/random_model/model_file.h"

namespace tessera::runtime::llama::random_model {

struct LanguagePart {
  std::string architecture = "llama";  // llama, qwen2vl or qwen3vl
  std::string split_rule = "smollm";
  std::int64_t n_vocabulary = 0;  // 0 = every byte and special token, and the one-letter words
  std::int64_t width = 64;
  int n_layers = 2;
  int n_heads = 2;
  int n_kv_heads = 1;
  int ffn_width = 64;
  int context_length = 32768;
  float rope_base = 10000.0F;
  float epsilon = 1e-5F;
  bool ties_embeddings = false;  // scores with the token embeddings, no output matrix of its own
  int n_deepstack = 0;           // qwen3vl: further rows of visual features for each token
  std::vector<std::int32_t> rope_sections;  // qwen2vl, qwen3vl
};

/// A tiny one of each architecture; `width` must be a multiple of 32.
LanguagePart tiny_llama(std::int64_t width = 64);
LanguagePart tiny_qwen2vl();
LanguagePart tiny_qwen3vl(int n_deepstack);

/// Greedy answers are printable: only whole words score.
ModelFile make_language_file(const std::string& name, const LanguagePart& part);

}  // namespace tessera::runtime::llama::random_model
