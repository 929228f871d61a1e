// Families whose preprocessing makes every image one square of a fixed size.
#include "runtime/llama/random_model/language_part.h"
#include "runtime/llama/random_model/shapes.h"
#include "runtime/llama/random_model/vision_part.h"

namespace tessera::runtime::llama::random_model {
namespace {

/// CLIP as LLaVA uses it: a class row, a norm before the layers, none of the last layer.
Tower clip_tower(std::string projector) {
  Tower tower;
  tower.projector = std::move(projector);
  tower.activation = Activation::kQuickGelu;
  tower.patch_bias = false;
  tower.class_row = true;
  tower.pre_norm = true;
  tower.post_norm = false;
  return tower;
}

Halves make_llava(const std::string& name) {
  const Tower tower = clip_tower("mlp");
  ModelFile vision = make_vision_file(tower, kTextWidth);
  add_positions(vision, tower, 1);
  vision.linear("mm.0", tower.width, kTextWidth);
  vision.linear("mm.2", kTextWidth, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// LLaVA with Yi: norms between the projector's products.
Halves make_llava_yi(const std::string& name) {
  const Tower tower = clip_tower("mlp");
  ModelFile vision = make_vision_file(tower, kTextWidth);
  add_positions(vision, tower, 1);
  vision.linear("mm.0", tower.width, kTextWidth);
  vision.norm("mm.1", kTextWidth);
  vision.linear("mm.3", kTextWidth, kTextWidth);
  vision.norm("mm.4", kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// MobileVLM's projectors are written for a square of 24 patches.
Tower mobile_tower(std::string projector) {
  Tower tower = clip_tower(std::move(projector));
  tower.patch_side = 4;
  tower.image_side = 24 * 4;
  return tower;
}

void add_mobile_block(ModelFile& vision, const std::string& p) {
  vision.weights(p + "0.0.weight", {3, 3, 1, kTextWidth});
  vision.norm(p + "0.1", kTextWidth);
  vision.linear(p + "1.fc1", kTextWidth, kTextWidth / 4);
  vision.linear(p + "1.fc2", kTextWidth / 4, kTextWidth);
  vision.matrix(p + "2.0", kTextWidth, kTextWidth);
  vision.norm(p + "2.1", kTextWidth);
}

Halves make_mobilevlm(const std::string& name) {
  const Tower tower = mobile_tower("ldp");
  ModelFile vision = make_vision_file(tower, kTextWidth);
  add_positions(vision, tower, 1);
  vision.linear("mm.model.mlp.1", tower.width, kTextWidth);
  vision.linear("mm.model.mlp.3", kTextWidth, kTextWidth);
  add_mobile_block(vision, "mm.model.mb_block.1.block.");
  add_mobile_block(vision, "mm.model.mb_block.2.block.");
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

Halves make_mobilevlm_v2(const std::string& name) {
  const Tower tower = mobile_tower("ldpv2");
  ModelFile vision = make_vision_file(tower, kTextWidth);
  add_positions(vision, tower, 1);
  vision.linear("mm.model.mlp.0", tower.width, kTextWidth);
  vision.linear("mm.model.mlp.2", kTextWidth, kTextWidth);
  vision.weights("mm.model.peg.0.weight", {3, 3, 1, kTextWidth});
  vision.floats("mm.model.peg.0.bias", {kTextWidth});
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

Halves make_glm_edge(const std::string& name) {
  Tower tower;
  tower.projector = "adapter";
  ModelFile vision = make_vision_file(tower, kTextWidth);
  add_positions(vision, tower);
  vision.weights("adapter.conv.weight", {2, 2, tower.width, kTextWidth});
  vision.floats("adapter.conv.bias", {kTextWidth});
  vision.matrix("adapter.linear.linear", kTextWidth, kTextWidth);
  vision.norm("adapter.linear.norm1", kTextWidth);
  vision.matrix("adapter.linear.dense_h_to_4h", kTextWidth, kTextWidth);
  vision.matrix("adapter.linear.gate", kTextWidth, kTextWidth);
  vision.matrix("adapter.linear.dense_4h_to_h", kTextWidth, kTextWidth);
  vision.floats("adapter.boi", {kTextWidth});
  vision.floats("adapter.eoi", {kTextWidth});
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

Halves make_janus(const std::string& name) {
  Tower tower;
  tower.projector = "janus_pro";
  ModelFile vision = make_vision_file(tower, kTextWidth);
  add_positions(vision, tower);
  vision.linear("mm.0", tower.width, kTextWidth);
  vision.linear("mm.1", kTextWidth, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

Halves make_cogvlm(const std::string& name) {
  Tower tower;
  tower.projector = "cogvlm";
  tower.attention = Attention::kFused;
  tower.class_row = true;
  tower.post_norm = false;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  add_positions(vision, tower, 1);
  vision.matrix("mm.model.fc", tower.width, kTextWidth);
  vision.norm("mm.post_fc_norm", kTextWidth);
  vision.matrix("mm.up", kTextWidth, kTextWidth);
  vision.matrix("mm.gate", kTextWidth, kTextWidth);
  vision.matrix("mm.down", kTextWidth, kTextWidth);
  vision.floats("v.boi", {kTextWidth});
  vision.floats("v.eoi", {kTextWidth});
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// The language model attends to all tokens of an image at once: non-causal.
Halves make_gemma3(const std::string& name) {
  Tower tower;
  tower.projector = "gemma3";
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.projector.scale_factor", 2);
  add_positions(vision, tower);
  vision.weights("mm.input_projection.weight", {kTextWidth, tower.width});
  vision.scale("mm.soft_emb_norm", tower.width);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

Halves make_nemotron(const std::string& name) {
  Tower tower;
  tower.projector = "nemotron_v2_vl";
  tower.patch_bias = false;
  tower.post_norm = false;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.projector.scale_factor", 2);
  add_positions(vision, tower);
  vision.floats("v.class_embd", {tower.width, 3});  // registers
  vision.scale("mm.model.mlp.0", tower.width * 4);
  vision.matrix("mm.model.mlp.1", tower.width * 4, kTextWidth);
  vision.matrix("mm.model.mlp.3", kTextWidth, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// A convolutional tower, pooled to 8 × 8 tokens.
Halves make_yasa(const std::string& name) {
  Tower tower;
  tower.projector = "yasa2";
  tower.n_layers = 0;
  tower.patch_side = 4;
  tower.image_side = 64;
  tower.post_norm = false;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  const std::string p = "v.stage.0.blk.0.";
  vision.norm("v.patch_ln", tower.width);
  vision.weights(p + "dw.weight", {7, 7, 1, tower.width});
  vision.floats(p + "dw.bias", {tower.width});
  vision.norm(p + "ln", tower.width);
  vision.linear(p + "pw1", tower.width, tower.width * 4);
  vision.norm(p + "grn", tower.width * 4);
  vision.linear(p + "pw2", tower.width * 4, tower.width);
  vision.linear("mm.0", tower.width, kTextWidth);
  vision.linear("mm.2", kTextWidth, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

}  // namespace

std::vector<Shape> fixed_shapes() {
  return {{"tiny-llava", make_llava},         {"tiny-llava-yi", make_llava_yi},
          {"tiny-mobilevlm", make_mobilevlm}, {"tiny-mobilevlm-v2", make_mobilevlm_v2},
          {"tiny-glm-edge", make_glm_edge},   {"tiny-janus", make_janus},
          {"tiny-cogvlm", make_cogvlm},       {"tiny-gemma3", make_gemma3},
          {"tiny-nemotron", make_nemotron},   {"tiny-yasa", make_yasa}};
}

}  // namespace tessera::runtime::llama::random_model
