// Two real models' sizes, for measurements: what a model costs does not depend on its values.
#include "runtime/llama/random_model/language_part.h"
#include "runtime/llama/random_model/shapes.h"
#include "runtime/llama/random_model/vision_part.h"

namespace tessera::runtime::llama::random_model {
namespace {

/// SmolVLM-256M: SigLIP base, tiles of 512 pixels, 64 tokens each; 1024 × 1024 become 16 and an
/// overview.
Halves make_smolvlm(const std::string& name) {
  LanguagePart language;
  language.n_vocabulary = 49'280;
  language.width = 576;
  language.n_layers = 30;
  language.n_heads = 9;
  language.n_kv_heads = 3;
  language.ffn_width = 1536;
  language.context_length = 8192;
  language.rope_base = 100'000.0F;

  Tower tower;
  tower.projector = "idefics3";
  tower.width = 768;
  tower.n_layers = 12;
  tower.n_heads = 12;
  tower.ffn_width = 3072;
  tower.patch_side = 16;
  tower.image_side = 512;
  tower.epsilon = 1e-5F;
  ModelFile vision = make_vision_file(tower, language.width);
  vision.set("clip.vision.projector.scale_factor", 4);
  vision.set("clip.vision.preproc_image_size", 2048);
  add_positions(vision, tower);
  vision.matrix("mm.model.fc", tower.width * 16, language.width);
  return {make_language_file(name, language), std::move(vision)};
}

/// Qwen2-VL-2B: one grid of 28-pixel tokens, of any size.
Halves make_qwen2vl_2b(const std::string& name) {
  LanguagePart language;
  language.architecture = "qwen2vl";
  language.split_rule = "qwen2";
  language.n_vocabulary = 151'936;
  language.width = 1536;
  language.n_layers = 28;
  language.n_heads = 12;
  language.n_kv_heads = 2;
  language.ffn_width = 8960;
  language.rope_base = 1'000'000.0F;
  language.epsilon = 1e-6F;
  language.ties_embeddings = true;
  language.rope_sections = {16, 24, 24, 0};

  Tower tower;
  tower.projector = "qwen2vl_merger";
  tower.width = 1280;
  tower.n_layers = 32;
  tower.n_heads = 16;
  tower.ffn_width = 5120;
  tower.image_side = 560;
  tower.activation = Activation::kQuickGelu;
  tower.patch_bias = false;
  tower.second_patch = true;
  ModelFile vision = make_vision_file(tower, language.width);
  add_merger(vision, "mm.0", "mm.2", tower.width * 4, language.width);
  return {make_language_file(name, language), std::move(vision)};
}

}  // namespace

std::vector<Shape> real_shapes() {
  return {{"smolvlm-256m", make_smolvlm}, {"qwen2-vl-2b", make_qwen2vl_2b}};
}

}  // namespace tessera::runtime::llama::random_model
