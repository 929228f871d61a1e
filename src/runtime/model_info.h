// What a loaded model says about itself. Values; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::runtime {

/// Shapes of the language model, for cost estimates. 0 = the model file does not say.
struct LanguageShape {
  int n_layers = 0;
  int width = 0;  // n_embd
  int n_heads = 0;
  int n_kv_heads = 0;
  int head_dim = 0;
  int ffn_width = 0;
  std::int64_t n_parameters = 0;
};

/// Shapes of the vision tower, for cost estimates. 0 = the model file does not say.
struct VisionShape {
  int n_layers = 0;
  int width = 0;
  int ffn_width = 0;
  int patch_side = 0;  // pixels
  int image_side = 0;  // pixels; the side of one tile, where tiles are fixed
};

struct ModelInfo {
  std::string name;        // what /v1/models and answers say
  int context_length = 0;  // tokens per sequence, as loaded
  int n_vocabulary = 0;
  int embedding_row_width = 0;  // floats of one visual token as the language model takes it
  bool has_vision = false;
  bool uses_mrope = false;
  bool has_overview = false;  // every image becomes many tiles; one, the whole, can stand alone
  LanguageShape language;
  VisionShape vision;
  std::int64_t weight_bytes = 0;  // both files
};

}  // namespace tessera::runtime
