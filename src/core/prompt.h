// A prompt as the model takes it: ordered segments with exact token counts and positions, known
// before any pixel is decoded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/image.h"

namespace tessera {

using TokenId = std::int32_t;

/// Index for RoPE. Differs from the token count under M-RoPE.
using Position = std::int32_t;

/// Position of one visual token: {t, y, x, z}, absolute. Without M-RoPE only t is used.
using VisualPosition = std::array<Position, 4>;

struct TextSegment {
  std::vector<TokenId> tokens;
  Position first_position = 0;  // token i sits at first_position + i
};

/// One tile of one image: the projector rows that take prompt positions together.
struct VisualSegment {
  std::size_t image_index = 0;  // in order of appearance in the prompt
  std::size_t tile_index = 0;   // inside that image
  int n_tokens = 0;
  bool non_causal = false;                // must be prefilled whole, in one call of its own
  std::vector<VisualPosition> positions;  // [n_tokens], raster order
};

using Segment = std::variant<TextSegment, VisualSegment>;

/// How one image is given to the model.
struct ImageInput {
  ImageSize size;              // of its pixels
  bool overview_only = false;  // where ModelInfo::has_overview: one tile that shows the whole
};

/// Each at its own size, with all its tiles.
inline std::vector<ImageInput> whole_images(std::span<const ImageSize> sizes) {
  std::vector<ImageInput> images;
  for (const ImageSize size : sizes) images.push_back({size});
  return images;
}

/// What the planner decided for one image, from its size alone.
struct ImagePlan {
  ImageSize source;   // as tokenize() gets it; the file's once it was fitted
  ImageSize planned;  // what the encoder will see, over all tiles
  int n_tiles = 0;
  bool overview_only = false;
  int first_tile = 0;  // of those that Model::prepare() gives; > 0 only for an overview
  int n_visual_tokens = 0;
  int n_patches = 0;  // over all tiles; 0 = the model does not say

  /// The size at which its pixels are wanted: the planned one where the model's preprocessing is a
  /// plain resize to something smaller, else that of its ImageInput. prepare() takes pixels of this
  /// size.
  ImageSize decoded = {};

  int budget = 0;          // visual tokens that it was made smaller for; 0 = it was not
  int n_cached_tiles = 0;  // whose features were known when it was planned
};

struct Prompt {
  std::vector<Segment> segments;
  std::vector<ImagePlan> images;  // in order of appearance
  int n_text_tokens = 0;
  int n_visual_tokens = 0;
  Position n_positions = 0;  // position of the first generated token

  int n_tokens() const { return n_text_tokens + n_visual_tokens; }
};

inline int segment_tokens(const Segment& segment) {
  if (const auto* text = std::get_if<TextSegment>(&segment)) {
    return static_cast<int>(text->tokens.size());
  }
  return std::get<VisualSegment>(segment).n_tokens;
}

}  // namespace tessera
