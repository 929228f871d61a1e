#include "runtime/llama/random_model/language_part.h"

#include "runtime/llama/random_model/vocabulary.h"

namespace tessera::runtime::llama::random_model {
namespace {

/// Factor of what is no word where the scores come from the embeddings themselves: too small to
/// win, too large to be a token without an embedding.
constexpr float kQuietEmbedding = 0.05F;

constexpr std::int64_t kBytesAndLineBreak = 257;
constexpr std::int64_t kLetters = 26;

void add_metadata(ModelFile& file, const std::string& name, const LanguagePart& part) {
  const std::string p = part.architecture + ".";
  file.set("general.architecture", part.architecture);
  file.set("general.type", "model");
  file.set("general.name", name);
  file.set("general.file_type", 1);  // mostly f16
  file.set(p + "context_length", part.context_length);
  file.set(p + "embedding_length", static_cast<int>(part.width));
  file.set(p + "block_count", part.n_layers);
  file.set(p + "feed_forward_length", part.ffn_width);
  file.set(p + "attention.head_count", part.n_heads);
  file.set(p + "attention.head_count_kv", part.n_kv_heads);
  file.set(p + "attention.layer_norm_rms_epsilon", part.epsilon);
  file.set(p + "rope.freq_base", part.rope_base);
  file.set(p + "rope.dimension_count", static_cast<int>(part.width) / part.n_heads);
  if (!part.rope_sections.empty()) file.set(p + "rope.dimension_sections", part.rope_sections);
  if (part.n_deepstack > 0) file.set(p + "n_deepstack_layers", part.n_deepstack);
}

void add_layer(ModelFile& file, int layer, const LanguagePart& part) {
  const std::string p = "blk." + std::to_string(layer) + ".";
  const std::int64_t head = part.width / part.n_heads;
  const auto projection = [&](const char* name, std::int64_t out) {
    if (part.architecture == "qwen2vl") {
      file.linear(p + name, part.width, out);
    } else {
      file.matrix(p + name, part.width, out);
    }
  };
  file.scale(p + "attn_norm", part.width);
  projection("attn_q", part.width);
  projection("attn_k", head * part.n_kv_heads);
  projection("attn_v", head * part.n_kv_heads);
  file.matrix(p + "attn_output", part.width, part.width);
  if (part.architecture == "qwen3vl") {
    file.scale(p + "attn_q_norm", head);
    file.scale(p + "attn_k_norm", head);
  }
  file.scale(p + "ffn_norm", part.width);
  file.matrix(p + "ffn_gate", part.width, part.ffn_width);
  file.matrix(p + "ffn_up", part.width, part.ffn_width);
  file.matrix(p + "ffn_down", part.ffn_width, part.width);
}

}  // namespace

LanguagePart tiny_llama(std::int64_t width) {
  LanguagePart part;
  part.width = width;
  part.n_heads = static_cast<int>(width / 32);
  return part;
}

LanguagePart tiny_qwen2vl() {
  LanguagePart part = tiny_llama();
  part.architecture = "qwen2vl";
  part.split_rule = "qwen2";
  part.rope_sections = {4, 6, 6, 0};  // of the 16 rotated pairs of a head
  return part;
}

LanguagePart tiny_qwen3vl(int n_deepstack) {
  LanguagePart part = tiny_qwen2vl();
  part.architecture = "qwen3vl";
  part.n_deepstack = n_deepstack;
  return part;
}

ModelFile make_language_file(const std::string& name, const LanguagePart& part) {
  ModelFile file;
  add_metadata(file, name, part);
  const std::vector<std::string> specials = all_special_tokens();
  const auto n_least = static_cast<std::int64_t>(specials.size()) + kBytesAndLineBreak + kLetters;
  const std::int64_t n = part.n_vocabulary > 0 ? part.n_vocabulary : n_least;
  const Vocabulary vocabulary = make_vocabulary(n, specials);
  add_vocabulary(file, vocabulary, part.split_rule);
  const auto row_scale = [vocabulary](float quiet) {
    return [vocabulary, quiet](std::int64_t row) { return vocabulary.is_word(row) ? 1.0F : quiet; };
  };
  file.add({"token_embd.weight",
            {part.width, n},
            Values::kWeights,
            row_scale(part.ties_embeddings ? kQuietEmbedding : 1.0F)});
  if (!part.ties_embeddings) {
    file.add({"output.weight", {part.width, n}, Values::kWeights, row_scale(0.0F)});
  }
  file.scale("output_norm", part.width);
  for (int layer = 0; layer < part.n_layers; ++layer) add_layer(file, layer, part);
  return file;
}

}  // namespace tessera::runtime::llama::random_model
