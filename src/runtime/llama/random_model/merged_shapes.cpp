// Families of one grid of any size like Qwen2-VL's, four patches to a token, whose language model
// numbers tokens in one line.
#include "runtime/llama/random_model/language_part.h"
#include "runtime/llama/random_model/shapes.h"
#include "runtime/llama/random_model/vision_part.h"

namespace tessera::runtime::llama::random_model {
namespace {

/// Four patches make a token.
constexpr std::int64_t kMerged = 4;

void set_pixel_limits(ModelFile& vision) {
  vision.set("clip.vision.image_min_pixels", 3'136);
  vision.set("clip.vision.image_max_pixels", 1'003'520);
}

/// Fewer keys and values than queries; windows in every second layer.
Halves make_exaone(const std::string& name) {
  Tower tower = rms_tower("exaone4_5");
  tower.attention = Attention::kFused;
  tower.n_kv_heads = 1;
  tower.second_patch = true;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.n_wa_pattern", 2);
  set_pixel_limits(vision);
  add_merger(vision, "mm.0", "mm.2", tower.width * kMerged, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// A layer with windows along rows, one with windows along columns, one without.
Halves make_mimovl(const std::string& name) {
  Tower tower = rms_tower("mimovl");
  tower.n_layers = 3;
  tower.attention = Attention::kFused;
  tower.n_kv_heads = 1;
  tower.second_patch = true;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.window_size", 8);
  vision.set("clip.vision.wa_pattern_mode", std::vector<std::int32_t>{0, 1, -1});
  set_pixel_limits(vision);
  for (const char* layer : {"0", "1"}) {
    vision.floats(std::string("v.blk.") + layer + ".attn_sinks", {tower.n_heads});
  }
  vision.matrix("mm.0", tower.width * kMerged, tower.width);
  vision.matrix("mm.2", tower.width, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

Halves make_minimax(const std::string& name) {
  Tower tower;
  tower.projector = "minimax_m3";
  tower.patch_bias = false;
  tower.second_patch = true;
  tower.pre_norm = true;
  tower.post_norm = false;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.linear("mm.1", tower.width, kTextWidth);
  vision.linear("mm.2", kTextWidth, kTextWidth);
  vision.linear("mm.merger.fc1", kTextWidth * kMerged, kTextWidth);
  vision.linear("mm.merger.fc2", kTextWidth, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

Halves make_muse(const std::string& name) {
  Tower tower;
  tower.projector = "muse-glimmer";
  tower.pre_norm = true;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  add_positions(vision, tower);
  vision.matrix("mm.0", tower.width * kMerged, kTextWidth);
  vision.matrix("mm.1", kTextWidth, kTextWidth);
  vision.matrix("mm.2", kTextWidth, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// Windows but in the last layer.
Halves make_youtuvl(const std::string& name) {
  Tower tower;
  tower.projector = "youtuvl";
  tower.patch_side = 16;
  tower.image_side = 64;
  tower.patches = Patches::kFlat;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.window_size", 64);
  vision.set("clip.vision.wa_layer_indexes", std::vector<std::int32_t>{1});
  vision.scale("mm.input_norm", tower.width);
  add_merger(vision, "mm.0", "mm.2", tower.width * kMerged, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

Tower dots_tower(std::string projector) {
  Tower tower = rms_tower(std::move(projector));
  tower.patch_bias = true;
  tower.pre_norm = true;
  tower.post_norm = false;
  return tower;
}

void add_dots_end(ModelFile& vision, const Tower& tower) {
  set_pixel_limits(vision);
  vision.norm("mm.input_norm", tower.width);
  vision.scale("mm.post_norm", tower.width);
  add_merger(vision, "mm.0", "mm.2", tower.width * kMerged, kTextWidth);
}

Halves make_dots_ocr(const std::string& name) {
  const Tower tower = dots_tower("dots_ocr");
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.projector.scale_factor", 2);
  add_dots_end(vision, tower);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// The second layer's feed-forward is a mixture of experts.
Halves make_dots3(const std::string& name) {
  constexpr std::int64_t kExperts = 4;
  Tower tower = dots_tower("dots3note_v");
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.spatial_merge_size", 2);
  vision.set("clip.vision.expert_used_count", 2);
  vision.set("clip.vision.block_count", tower.n_layers + 1);
  add_dots_end(vision, tower);
  const std::string p = "v.blk." + std::to_string(tower.n_layers) + ".";
  vision.scale(p + "ln1", tower.width);
  vision.scale(p + "ln2", tower.width);
  for (const char* part : {"attn_q", "attn_k", "attn_v", "attn_out"}) {
    vision.matrix(p + part, tower.width, tower.width);
  }
  vision.matrix(p + "ffn_gate_inp", tower.width, kExperts);
  vision.weights(p + "ffn_gate_exps.weight", {tower.width, tower.ffn_width, kExperts});
  vision.weights(p + "ffn_up_exps.weight", {tower.width, tower.ffn_width, kExperts});
  vision.weights(p + "ffn_down_exps.weight", {tower.ffn_width, tower.width, kExperts});
  vision.floats(p + "exp_probs_b.weight", {kExperts});
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

}  // namespace

std::vector<Shape> merged_shapes() {
  return {{"tiny-exaone4.5", make_exaone},   {"tiny-mimovl", make_mimovl},
          {"tiny-minimax-m3", make_minimax}, {"tiny-muse", make_muse},
          {"tiny-youtuvl", make_youtuvl},    {"tiny-dots-ocr", make_dots_ocr},
          {"tiny-dots3", make_dots3}};
}

}  // namespace tessera::runtime::llama::random_model
