// The vision half of a random model: metadata, patch embedding and transformer layers, with the
// switches by which the families differ. What comes behind the tower is the family's own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/llama/random_model/model_file.h"

namespace tessera::runtime::llama::random_model {

enum class Attention { kSeparate, kFused };    // q, k and v by themselves, or one matrix
enum class Patches { kSquares, kFlat, kOwn };  // a convolution, a matrix, or the family's own
enum class Activation { kGelu, kSilu, kQuickGelu };

/// Defaults: a tiny SigLIP.
struct Tower {
  std::string projector;  // as clip.projector_type has it
  std::int64_t width = 32;
  int n_layers = 2;
  int n_heads = 2;
  int n_kv_heads = 0;  // 0 = n_heads; else fused, with fewer keys and values
  std::int64_t ffn_width = 48;
  int patch_side = 14;
  int image_side = 56;
  float epsilon = 1e-6F;
  Activation activation = Activation::kGelu;
  Attention attention = Attention::kSeparate;
  Patches patches = Patches::kSquares;
  bool patch_bias = true;
  bool second_patch = false;  // two frames in time
  bool class_row = false;     // a learned row beside the patches
  bool has_bias = true;       // of norms, attention and feed-forward; without: RMS norms
  bool has_gate = false;      // a gated feed-forward
  bool pre_norm = false;
  bool post_norm = true;

  int side_patches() const { return image_side / patch_side; }
  std::int64_t n_patches() const { return std::int64_t{side_patches()} * side_patches(); }
};

/// Without biases, with a gate and RMS norms, as the towers of Pixtral and GLM-4V.
Tower rms_tower(std::string projector);

/// A vision file with the tower in it.
/// @param text_width  of the language model that the projector ends at
ModelFile make_vision_file(const Tower& tower, std::int64_t text_width);

/// Learned positions of a square of patches, plus `n_extra` rows.
void add_positions(ModelFile& file, const Tower& tower, std::int64_t n_extra = 0);

/// A norm as the tower's own: with a bias where the tower has them.
void add_norm(ModelFile& file, const Tower& tower, const std::string& name);

/// Two products with biases, `in` → `in` → text width: the usual end.
void add_merger(ModelFile& file, const std::string& first, const std::string& second,
                std::int64_t in, std::int64_t text_width);

}  // namespace tessera::runtime::llama::random_model
