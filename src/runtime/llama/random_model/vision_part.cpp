#include "runtime/llama/random_model/vision_part.h"

namespace tessera::runtime::llama::random_model {
namespace {

void add_metadata(ModelFile& file, const Tower& tower, std::int64_t text_width) {
  file.set("general.architecture", "clip");
  file.set("general.type", "mmproj");
  file.set("general.name", "random " + tower.projector);
  file.set("general.file_type", 1);  // mostly f16
  file.set("clip.has_vision_encoder", true);
  file.set("clip.projector_type", tower.projector);
  file.set("clip.vision.image_size", tower.image_side);
  file.set("clip.vision.patch_size", tower.patch_side);
  file.set("clip.vision.embedding_length", static_cast<int>(tower.width));
  file.set("clip.vision.feed_forward_length", static_cast<int>(tower.ffn_width));
  file.set("clip.vision.block_count", tower.n_layers);
  file.set("clip.vision.attention.head_count", tower.n_heads);
  if (tower.n_kv_heads > 0) file.set("clip.vision.attention.head_count_kv", tower.n_kv_heads);
  file.set("clip.vision.attention.layer_norm_epsilon", tower.epsilon);
  file.set("clip.vision.projection_dim", static_cast<int>(text_width));
  file.set("clip.vision.image_mean", std::vector<float>{0.5F, 0.5F, 0.5F});
  file.set("clip.vision.image_std", std::vector<float>{0.5F, 0.5F, 0.5F});
  if (tower.activation != Activation::kQuickGelu) {
    file.set(tower.activation == Activation::kGelu ? "clip.use_gelu" : "clip.use_silu", true);
  }
}

void add_patches(ModelFile& file, const Tower& tower) {
  const std::int64_t side = tower.patch_side;
  if (tower.patches == Patches::kFlat) {
    file.matrix("v.patch_embd", side * side * 3, tower.width);
  } else if (tower.patches == Patches::kSquares) {
    file.weights("v.patch_embd.weight", {side, side, 3, tower.width});
  }
  if (tower.second_patch) file.weights("v.patch_embd.weight.1", {side, side, 3, tower.width});
  if (tower.patch_bias) file.floats("v.patch_embd.bias", {tower.width});
  if (tower.class_row) file.floats("v.class_embd", {tower.width});
}

void add_layer(ModelFile& file, const Tower& tower, int layer) {
  const std::string p = "v.blk." + std::to_string(layer) + ".";
  const auto product = [&](const char* name, std::int64_t in, std::int64_t out) {
    if (tower.has_bias) {
      file.linear(p + name, in, out);
    } else {
      file.matrix(p + name, in, out);
    }
  };
  const std::int64_t head = tower.width / tower.n_heads;
  const int n_kv_heads = tower.n_kv_heads > 0 ? tower.n_kv_heads : tower.n_heads;
  add_norm(file, tower, p + "ln1");
  add_norm(file, tower, p + "ln2");
  if (tower.attention == Attention::kFused) {
    // Every family with fused attention has its bias.
    file.linear(p + "attn_qkv", tower.width, head * (tower.n_heads + 2 * n_kv_heads));
  } else {
    for (const char* name : {"attn_q", "attn_k", "attn_v"}) {
      product(name, tower.width, tower.width);
    }
  }
  product("attn_out", tower.width, tower.width);
  product("ffn_up", tower.width, tower.ffn_width);
  if (tower.has_gate) product("ffn_gate", tower.width, tower.ffn_width);
  product("ffn_down", tower.ffn_width, tower.width);
}

}  // namespace

Tower rms_tower(std::string projector) {
  Tower tower;
  tower.projector = std::move(projector);
  tower.activation = Activation::kSilu;
  tower.has_bias = false;
  tower.has_gate = true;
  tower.patch_bias = false;
  return tower;
}

ModelFile make_vision_file(const Tower& tower, std::int64_t text_width) {
  ModelFile file;
  add_metadata(file, tower, text_width);
  add_patches(file, tower);
  if (tower.pre_norm) add_norm(file, tower, "v.pre_ln");
  for (int layer = 0; layer < tower.n_layers; ++layer) add_layer(file, tower, layer);
  if (tower.post_norm) add_norm(file, tower, "v.post_ln");
  return file;
}

void add_positions(ModelFile& file, const Tower& tower, std::int64_t n_extra) {
  file.floats("v.position_embd.weight", {tower.width, tower.n_patches() + n_extra});
}

void add_norm(ModelFile& file, const Tower& tower, const std::string& name) {
  if (tower.has_bias) {
    file.norm(name, tower.width);
  } else {
    file.scale(name, tower.width);
  }
}

void add_merger(ModelFile& file, const std::string& first, const std::string& second,
                std::int64_t in, std::int64_t text_width) {
  file.linear(first, in, in);
  file.linear(second, in, text_width);
}

}  // namespace tessera::runtime::llama::random_model
