// Families whose image becomes one grid of any size and whose language model numbers its tokens in
// one line.
#include "runtime/llama/random_model/language_part.h"
#include "runtime/llama/random_model/shapes.h"
#include "runtime/llama/random_model/vision_part.h"

namespace tessera::runtime::llama::random_model {
namespace {

/// Four patches make a token, where patches are merged.
constexpr std::int64_t kMerged = 4;

Tower pixtral_tower(std::string projector) {
  Tower tower = rms_tower(std::move(projector));
  tower.pre_norm = true;
  tower.post_norm = false;
  return tower;
}

/// A learned row behind each row of patches but the last.
Halves make_pixtral(const std::string& name) {
  const Tower tower = pixtral_tower("pixtral");
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.linear("mm.1", tower.width, kTextWidth);
  vision.linear("mm.2", kTextWidth, kTextWidth);
  vision.floats("v.token_embd.img_break", {kTextWidth});
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

void add_pixtral_merger(ModelFile& vision, const Tower& tower) {
  vision.set("clip.vision.spatial_merge_size", 2);
  vision.scale("mm.input_norm", tower.width);
  vision.matrix("mm.patch_merger", tower.width * kMerged, tower.width);
  vision.matrix("mm.1", tower.width, kTextWidth);
  vision.matrix("mm.2", kTextWidth, kTextWidth);
}

/// Pixtral with merged patches.
Halves make_mistral3(const std::string& name) {
  const Tower tower = pixtral_tower("pixtral");
  ModelFile vision = make_vision_file(tower, kTextWidth);
  add_pixtral_merger(vision, tower);
  vision.floats("v.token_embd.img_break", {kTextWidth});
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// Always as large as its longest edge allows.
Halves make_lightonocr(const std::string& name) {
  const Tower tower = pixtral_tower("lightonocr");
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.preproc_image_size", 280);
  add_pixtral_merger(vision, tower);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

Halves make_kimivl(const std::string& name) {
  Tower tower;
  tower.projector = "kimivl";
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.projector.scale_factor", 2);
  add_positions(vision, tower);
  vision.norm("mm.input_norm", tower.width);
  add_merger(vision, "mm.1", "mm.2", tower.width * kMerged, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

Halves make_kimik25(const std::string& name) {
  Tower tower;
  tower.projector = "kimik25";
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.projector.scale_factor", 2);
  vision.floats("v.position_embd.weight",
                {tower.width, tower.side_patches(), tower.side_patches()});
  vision.norm("mm.input_norm", tower.width);
  add_merger(vision, "mm.1", "mm.2", tower.width * kMerged, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

Halves make_phi4(const std::string& name) {
  Tower tower;
  tower.projector = "phi4";
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.image_min_pixels", 12'544);
  vision.set("clip.vision.image_max_pixels", 200'704);
  add_positions(vision, tower);
  vision.linear("mm.0", tower.width, kTextWidth);
  vision.linear("mm.2", kTextWidth, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// Gemma 4 has a table of positions for each axis, as long as the longest strip: 1120 tokens of
/// 48 × 48 pixels at 200:1 have 22,700 pixels, 1420 patches.
constexpr std::int64_t kAxisPositions = 2048;

Halves make_gemma4(const std::string& name) {
  Tower tower = rms_tower("gemma4v");
  tower.patch_side = 16;
  tower.image_side = 96;
  tower.activation = Activation::kGelu;
  tower.post_norm = false;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.floats("v.position_embd.weight", {tower.width, kAxisPositions, 2});
  vision.matrix("mm.input_projection", tower.width, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// No tower: a patch of 3 × 3 squares is projected at once.
Halves make_gemma4_unified(const std::string& name) {
  Tower tower = rms_tower("gemma4uv");
  tower.n_layers = 0;
  tower.patch_side = 16;
  tower.image_side = 96;
  tower.post_norm = false;
  tower.patches = Patches::kOwn;
  const std::int64_t n_values = std::int64_t{48} * 48 * 3;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.norm("v.patch_norm.1", n_values);
  vision.linear("v.patch_embd", n_values, tower.width);
  vision.norm("v.patch_norm.2", tower.width);
  vision.norm("v.patch_norm.3", tower.width);
  vision.floats("v.position_embd.weight", {tower.width, kAxisPositions, 2});
  vision.matrix("mm.input_projection", tower.width, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

}  // namespace

std::vector<Shape> dynamic_shapes() {
  return {{"tiny-pixtral", make_pixtral},       {"tiny-mistral3", make_mistral3},
          {"tiny-lightonocr", make_lightonocr}, {"tiny-kimivl", make_kimivl},
          {"tiny-kimik25", make_kimik25},       {"tiny-phi4", make_phi4},

          {"tiny-gemma4", make_gemma4},         {"tiny-gemma4-unified", make_gemma4_unified}};
}

}  // namespace tessera::runtime::llama::random_model
