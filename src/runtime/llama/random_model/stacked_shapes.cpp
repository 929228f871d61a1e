// Families that encode several tiles at once, or convolve them with a second tower first.
#include "runtime/llama/random_model/language_part.h"
#include "runtime/llama/random_model/shapes.h"
#include "runtime/llama/random_model/vision_part.h"

namespace tessera::runtime::llama::random_model {
namespace {

constexpr std::int64_t kSamWidth = 16;

/// Windows of 14 × 14 patches.
void add_sam_layer(ModelFile& vision, int layer) {
  constexpr std::int64_t kWindow = 14;
  const std::string p = "v.sam.blk." + std::to_string(layer) + ".";
  vision.set("clip.vision.window_size", static_cast<int>(kWindow));
  vision.norm(p + "pre_ln", kSamWidth);
  vision.norm(p + "post_ln", kSamWidth);
  vision.linear(p + "attn.qkv", kSamWidth, kSamWidth * 3);
  vision.linear(p + "attn.out", kSamWidth, kSamWidth);
  vision.floats(p + "attn.pos_h.weight", {kSamWidth, 2 * kWindow - 1});
  vision.floats(p + "attn.pos_w.weight", {kSamWidth, 2 * kWindow - 1});
  vision.linear(p + "mlp.lin1", kSamWidth, kSamWidth);
  vision.linear(p + "mlp.lin2", kSamWidth, kSamWidth);
}

/// A SAM tower over patches of 16 pixels, and convolutions that make one of 4 × 4. The library
/// reads the weights of twelve layers and runs as many as the file says.
void add_sam(ModelFile& vision, std::int64_t out) {
  constexpr int kLayersRead = 12;
  // The third is the first without windows, and the library wants one of those.
  vision.set("clip.vision.sam.block_count", 3);
  vision.set("clip.vision.sam.head_count", 1);
  vision.set("clip.vision.sam.embedding_length", static_cast<int>(kSamWidth));
  vision.floats("v.sam.pos_embd.weight", {kSamWidth, 64, 64});
  vision.weights("v.sam.patch_embd.weight", {16, 16, 3, kSamWidth});
  vision.floats("v.sam.patch_embd.bias", {kSamWidth});
  for (int layer = 0; layer < kLayersRead; ++layer) add_sam_layer(vision, layer);
  vision.weights("v.sam.neck.0.weight", {1, 1, kSamWidth, kSamWidth});
  vision.norm("v.sam.neck.1", kSamWidth);
  vision.weights("v.sam.neck.2.weight", {3, 3, kSamWidth, kSamWidth});
  vision.norm("v.sam.neck.3", kSamWidth);
  vision.weights("v.sam.net_2.weight", {3, 3, kSamWidth, kSamWidth});
  vision.weights("v.sam.net_3.weight", {3, 3, kSamWidth, out});
}

/// A row of tiles is one encode; a learned row ends each row of tokens.
Halves make_deepseek_ocr(const std::string& name) {
  Tower tower;
  tower.projector = "deepseekocr";
  tower.n_layers = 1;
  tower.patch_side = 16;
  tower.image_side = 256;  // for 16 × 16 positions; the overview has 1024 pixels whatever this says
  tower.patches = Patches::kOwn;
  tower.patch_bias = false;
  tower.class_row = true;
  tower.pre_norm = true;
  tower.post_norm = false;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  add_positions(vision, tower, 1);
  add_sam(vision, tower.width);
  vision.floats("v.image_newline", {kTextWidth});
  vision.floats("v.view_seperator", {kTextWidth});
  vision.linear("mm.model.fc", tower.width * 2, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// Learned queries behind the tokens of a tile take their place.
Halves make_deepseek_ocr2(const std::string& name) {
  Tower tower = rms_tower("deepseekocr2");
  tower.n_layers = 1;
  tower.n_kv_heads = 2;
  tower.patch_side = 16;
  tower.image_side = 256;
  tower.patches = Patches::kOwn;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  add_sam(vision, tower.width);
  vision.floats("v.resample_query_768.weight", {tower.width, 144});
  vision.floats("v.resample_query_1024.weight", {tower.width, 256});
  vision.floats("v.view_seperator", {kTextWidth});
  vision.linear("mm.model.fc", tower.width, kTextWidth);
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

/// A query transformer over windows of 4 × 4 patches, whose heads are 64 wide.
void add_window_queries(ModelFile& vision, std::int64_t width) {
  const std::string p = "v.proj_blk.0.";
  vision.floats(p + "img_pos", {width, 16});
  vision.floats(p + "query", {width, 4});
  vision.linear(p + "linear", width, kTextWidth);
  vision.norm(p + "norm", width);
  vision.norm(p + "post_norm", width);
  for (const std::string kind : {"self_attn", "cross_attn"}) {
    for (const char* part : {"_q", "_k", "_v", "_out"}) {
      vision.linear(p + kind + part, width, width);
    }
    vision.norm(p + kind + "_norm", width);
  }
  vision.linear(p + "ffn_up", width, width);
  vision.linear(p + "ffn_down", width, width);
  vision.norm(p + "ffn_norm", width);
}

/// Overview and tiles are one encode; tokens of padding are left out.
Halves make_granite4(const std::string& name) {
  Tower tower;
  tower.projector = "granite4_vision";
  tower.width = 64;
  tower.patch_side = 7;
  tower.post_norm = false;
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.image_grid_pinpoints",
             std::vector<std::int32_t>{56, 112, 112, 56, 112, 112, 168, 56, 56, 168});
  vision.set("clip.vision.feature_layer", std::vector<std::int32_t>{1});
  vision.set("clip.vision.projector.spatial_offsets", std::vector<std::int32_t>{-1});
  vision.set("clip.vision.projector.query_side", 2);
  vision.set("clip.vision.projector.window_side", 4);
  add_positions(vision, tower);
  add_window_queries(vision, tower.width);
  vision.floats("v.image_newline", {kTextWidth});
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

}  // namespace

std::vector<Shape> stacked_shapes() {
  return {{"tiny-deepseek-ocr", make_deepseek_ocr},
          {"tiny-deepseek-ocr2", make_deepseek_ocr2},
          {"tiny-granite4", make_granite4}};
}

}  // namespace tessera::runtime::llama::random_model
