// Stands between llama-mtmd-cli and two functions of llama-common (linker option --wrap) and writes
// one line for each accepted token to the file that TESSERA_REFERENCE_IDS names: its id, and how
// far its score is above the second best.
#include <llama.h>
#include <sampling.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

extern "C" {
llama_token __real__Z21common_sampler_sampleP14common_samplerP13llama_contextib(common_sampler*,
                                                                                llama_context*, int,
                                                                                bool);
void __real__Z21common_sampler_acceptP14common_samplerib(common_sampler*, llama_token, bool);
}

namespace {

float margin = 0;
std::string text;

FILE* output() {
  static FILE* file = [] {
    const char* path = std::getenv("TESSERA_REFERENCE_IDS");
    return path == nullptr ? nullptr : std::fopen(path, "w");
  }();
  return file;
}

}  // namespace

extern "C" llama_token __wrap__Z21common_sampler_sampleP14common_samplerP13llama_contextib(
    common_sampler* sampler, llama_context* context, int row, bool grammar_first) {
  const float* scores = llama_get_logits_ith(context, row);
  const int n = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(context)));
  float best = -std::numeric_limits<float>::infinity();
  float second = best;
  for (int i = 0; i < n; ++i) {
    second = std::max(second, std::min(best, scores[i]));
    best = std::max(best, scores[i]);
  }
  margin = best - second;
  const llama_token token = __real__Z21common_sampler_sampleP14common_samplerP13llama_contextib(
      sampler, context, row, grammar_first);
  text = common_token_to_piece(context, token, /*special=*/false);
  return token;
}

extern "C" void __wrap__Z21common_sampler_acceptP14common_samplerib(common_sampler* sampler,
                                                                    llama_token token,
                                                                    bool is_generated) {
  if (FILE* file = output()) {
    std::fprintf(file, "%d %.3f ", token, static_cast<double>(margin));
    for (const char c : text) std::fprintf(file, "%02x", static_cast<unsigned char>(c));
    std::fputc('\n', file);
    std::fflush(file);
  }
  __real__Z21common_sampler_acceptP14common_samplerib(sampler, token, is_generated);
}
