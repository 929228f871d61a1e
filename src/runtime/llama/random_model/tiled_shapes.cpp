// Families that cut an image into a grid of tiles, most with an overview beside it.
#include "runtime/llama/random_model/language_part.h"
#include "runtime/llama/random_model/shapes.h"
#include "runtime/llama/random_model/vision_part.h"

namespace tessera::runtime::llama::random_model {
namespace {

/// Four patches make a token, where patches are merged.
constexpr std::int64_t kMerged = 4;

/// Four tiles of 64 pixels along the longest edge, as the real family has four of 512.
Halves make_idefics3(const std::string& name) {
  Tower tower;
  tower.projector = "idefics3";
  tower.patch_side = 8;
  tower.image_side = 64;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.projector.scale_factor", 2);
  vision.set("clip.vision.preproc_image_size", 256);
  add_positions(vision, tower);
  vision.matrix("mm.model.fc", tower.width * kMerged, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

Halves make_internvl(const std::string& name) {
  Tower tower;
  tower.projector = "internvl";
  tower.class_row = true;
  tower.post_norm = false;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.projector.scale_factor", 2);
  add_positions(vision, tower, 1);
  vision.norm("mm.model.mlp.0", tower.width * kMerged);
  vision.linear("mm.model.mlp.1", tower.width * kMerged, kTextWidth);
  vision.linear("mm.model.mlp.3", kTextWidth, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// LLaVA 1.6: the grid is chosen from a list of sizes.
Halves make_llava_next(const std::string& name) {
  Tower tower;
  tower.projector = "mlp";
  tower.activation = Activation::kQuickGelu;
  tower.patch_bias = false;
  tower.class_row = true;
  tower.pre_norm = true;
  tower.post_norm = false;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.image_grid_pinpoints",
             std::vector<std::int32_t>{56, 112, 112, 56, 112, 112, 168, 56, 56, 168});
  add_positions(vision, tower, 1);
  vision.linear("mm.0", tower.width, kTextWidth);
  vision.linear("mm.2", kTextWidth, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// MiniCPM-V's towers look positions up in a table of 70 × 70, whatever the image's size.
constexpr std::int64_t kBuckets = std::int64_t{70} * 70;

/// Learned queries instead of patches; the resampler's heads are 128 wide.
Halves make_minicpmv(const std::string& name) {
  constexpr std::int64_t kWidth = 128;
  constexpr std::int64_t kQueries = 16;
  Tower tower;
  tower.projector = "resampler";
  ModelFile vision = make_vision_file(tower, kWidth);
  vision.set_signed("clip.minicpmv_version", 3);
  vision.set("clip.minicpmv_query_num", static_cast<int>(kQueries));
  vision.floats("v.position_embd.weight", {tower.width, kBuckets});
  vision.floats("resampler.pos_embed_k", {kWidth, tower.n_patches()});
  vision.floats("resampler.query", {kWidth, kQueries});
  vision.matrix("resampler.proj", kWidth, kWidth);
  vision.matrix("resampler.kv", tower.width, kWidth);
  for (const char* part : {"q", "k", "v", "out"}) {
    vision.linear(std::string("resampler.attn.") + part, kWidth, kWidth);
  }
  for (const char* part : {"q", "kv", "post"}) {
    vision.norm(std::string("resampler.ln_") + part, kWidth);
  }
  return {make_language_file(name, tiny_llama(kWidth)), std::move(vision)};
}

/// Merges twice: inside the tower and behind it.
Halves make_minicpmv46(const std::string& name) {
  Tower tower;
  tower.projector = "minicpmv4_6";
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.wa_layer_indexes", std::vector<std::int32_t>{0});
  vision.floats("v.position_embd.weight", {tower.width, kBuckets});
  vision.norm("v.vit_merger.ln1", tower.width);
  for (const char* part : {"attn_q", "attn_k", "attn_v", "attn_out"}) {
    vision.linear(std::string("v.vit_merger.") + part, tower.width, tower.width);
  }
  vision.norm("v.vit_merger.ds_ln", tower.width * kMerged);
  vision.linear("v.vit_merger.ds_ffn_up", tower.width * kMerged, tower.width);
  vision.linear("v.vit_merger.ds_ffn_down", tower.width, tower.width);
  vision.norm("mm.input_norm", tower.width * kMerged);
  vision.linear("mm.up", tower.width * kMerged, tower.width);
  vision.linear("mm.down", tower.width, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

Halves make_llama4(const std::string& name) {
  Tower tower;
  tower.projector = "llama4";
  tower.patches = Patches::kFlat;
  tower.patch_bias = false;
  tower.class_row = true;
  tower.pre_norm = true;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.projector.scale_factor", 2);
  add_positions(vision, tower, 1);
  vision.matrix("mm.model.mlp.1", tower.width * kMerged, tower.width);
  vision.matrix("mm.model.mlp.2", tower.width, tower.width);
  vision.matrix("mm.model.fc", tower.width, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// Tiles of 512 pixels, whatever the file says; an image below 4 megapixels or so is not cut.
Halves make_lfm2(const std::string& name) {
  Tower tower;
  tower.projector = "lfm2";
  tower.patch_side = 32;
  tower.image_side = 512;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.projector.scale_factor", 2);
  add_positions(vision, tower);
  vision.norm("mm.input_norm", tower.width * kMerged);
  add_merger(vision, "mm.1", "mm.2", tower.width * kMerged, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// Tiles of 504 pixels, whatever the file says: 12 × 12 patches, halved twice.
Halves make_step3(const std::string& name) {
  Tower tower;
  tower.projector = "step3vl";
  tower.patch_side = 42;
  tower.image_side = 504;
  tower.post_norm = false;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  add_positions(vision, tower);
  vision.weights("mm.0.weight", {3, 3, tower.width, tower.width});
  vision.floats("mm.0.bias", {tower.width});
  vision.weights("mm.1.weight", {3, 3, tower.width, tower.width});
  vision.floats("mm.1.bias", {tower.width});
  vision.matrix("mm.model.fc", tower.width, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

}  // namespace

std::vector<Shape> tiled_shapes() {
  return {{"tiny-idefics3", make_idefics3},
          {"tiny-internvl", make_internvl},
          {"tiny-llava-next", make_llava_next},
          {"tiny-minicpmv", make_minicpmv},
          {"tiny-minicpmv4.6", make_minicpmv46},
          {"tiny-llama4", make_llama4},
          {"tiny-lfm2", make_lfm2},
          {"tiny-step3", make_step3}};
}

}  // namespace tessera::runtime::llama::random_model
