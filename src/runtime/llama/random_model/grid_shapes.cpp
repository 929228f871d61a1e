// Families whose image becomes one grid of any size and whose language model numbers its tokens by
// row and column (M-RoPE).
#include "runtime/llama/random_model/language_part.h"
#include "runtime/llama/random_model/shapes.h"
#include "runtime/llama/random_model/vision_part.h"

namespace tessera::runtime::llama::random_model {
namespace {

/// Four patches make a token.
constexpr std::int64_t kMerged = 4;

Halves make_qwen2vl(const std::string& name) {
  Tower tower;
  tower.projector = "qwen2vl_merger";
  tower.activation = Activation::kQuickGelu;
  tower.patch_bias = false;
  tower.second_patch = true;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  add_merger(vision, "mm.0", "mm.2", tower.width * kMerged, kTextWidth);
  return {make_language_file(name, tiny_qwen2vl()), std::move(vision)};
}

/// Windows of attention, and every second layer without.
Halves make_qwen25vl(const std::string& name) {
  Tower tower = rms_tower("qwen2.5vl_merger");
  // The graph adds the biases of q, k and v without asking whether they are there.
  tower.has_bias = true;
  tower.second_patch = true;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.n_wa_pattern", 2);
  add_merger(vision, "mm.0", "mm.2", tower.width * kMerged, kTextWidth);
  return {make_language_file(name, tiny_qwen2vl()), std::move(vision)};
}

/// The first layer's features are further rows of every token.
Halves make_qwen3vl(const std::string& name) {
  Tower tower;
  tower.projector = "qwen3vl_merger";
  tower.attention = Attention::kFused;
  tower.second_patch = true;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.spatial_merge_size", 2);
  add_positions(vision, tower);
  const std::int64_t merged = tower.width * kMerged;
  add_merger(vision, "mm.0", "mm.2", merged, kTextWidth);
  vision.norm("v.deepstack.0.norm", merged);
  add_merger(vision, "v.deepstack.0.fc1", "v.deepstack.0.fc2", merged, kTextWidth);
  return {make_language_file(name, tiny_qwen3vl(1)), std::move(vision)};
}

Halves make_glm4v(const std::string& name) {
  Tower tower = rms_tower("glm4v");
  tower.patch_bias = true;
  tower.second_patch = true;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.spatial_merge_size", 2);
  add_positions(vision, tower);
  vision.scale("v.norm_embd", tower.width);
  vision.weights("mm.patch_merger.weight", {2, 2, tower.width, kTextWidth});
  vision.floats("mm.patch_merger.bias", {kTextWidth});
  vision.matrix("mm.model.fc", kTextWidth, kTextWidth);
  vision.norm("mm.post_norm", kTextWidth);
  vision.matrix("mm.up", kTextWidth, kTextWidth);
  vision.matrix("mm.gate", kTextWidth, kTextWidth);
  vision.matrix("mm.down", kTextWidth, kTextWidth);
  return {make_language_file(name, tiny_qwen2vl()), std::move(vision)};
}

Halves make_paddleocr(const std::string& name) {
  Tower tower;
  tower.projector = "paddleocr";
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.image_min_pixels", 147'384);
  vision.set("clip.vision.image_max_pixels", 2'822'400);
  add_positions(vision, tower);
  vision.norm("mm.input_norm", tower.width);
  add_merger(vision, "mm.1", "mm.2", tower.width * kMerged, kTextWidth);
  return {make_language_file(name, tiny_qwen2vl()), std::move(vision)};
}

/// A learned row ends each row of the grid, and two more enclose the whole.
Halves make_hunyuanvl(const std::string& name) {
  Tower tower;
  tower.projector = "hunyuanvl";
  tower.patch_side = 16;
  tower.image_side = 64;
  tower.post_norm = false;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  add_positions(vision, tower);
  const std::int64_t wide = tower.width * 2;
  vision.weights("mm.0.weight", {2, 2, tower.width, wide});
  vision.floats("mm.0.bias", {wide});
  vision.weights("mm.2.weight", {1, 1, wide, wide});
  vision.floats("mm.2.bias", {wide});
  vision.linear("mm.model.fc", wide, kTextWidth);
  vision.scale("mm.pre_norm", tower.width);
  vision.scale("mm.post_norm", kTextWidth);
  vision.floats("mm.image_begin", {kTextWidth});
  vision.floats("mm.image_end", {kTextWidth});
  vision.floats("v.image_newline", {wide});
  return {make_language_file(name, tiny_qwen2vl()), std::move(vision)};
}

}  // namespace

std::vector<Shape> grid_shapes() {
  return {{"tiny-qwen2vl", make_qwen2vl},     {"tiny-qwen2.5vl", make_qwen25vl},
          {"tiny-qwen3vl", make_qwen3vl},     {"tiny-glm4v", make_glm4v},
          {"tiny-paddleocr", make_paddleocr}, {"tiny-hunyuanvl", make_hunyuanvl}};
}

}  // namespace tessera::runtime::llama::random_model
