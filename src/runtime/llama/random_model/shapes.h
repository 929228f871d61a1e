// The shapes that the tool can make, by the way in which their preprocessing sizes an image.
// Sources of names, shapes and metadata: the pinned libllama and libmtmd, which load them.
#pragma once

#include <string>
#include <vector>

#include "runtime/llama/random_model/model_file.h"

namespace tessera::runtime::llama::random_model {

/// A language model and the vision tower and projector that fit it.
struct Halves {
  ModelFile language;
  ModelFile vision;
};

struct Shape {
  std::string name;
  Halves (*make)(const std::string& name);
};

/// Two real models' sizes: hundreds of megabytes.
std::vector<Shape> real_shapes();

// Tiny ones, below 4 MB a pair: one for each family.
std::vector<Shape> fixed_shapes();    // every image becomes one square
std::vector<Shape> tiled_shapes();    // a grid of equal squares, most with an overview
std::vector<Shape> grid_shapes();     // one grid of any size, numbered by M-RoPE
std::vector<Shape> dynamic_shapes();  // one grid of any size, numbered in one line
std::vector<Shape> merged_shapes();   // … with four patches to a token, as the Qwen family's
std::vector<Shape> stacked_shapes();  // several tiles in one encode, or a second tower

/// Of one family, whose images are refused.
std::vector<Shape> refused_shapes();

/// Width of the tiny language models, unless a family needs another.
inline constexpr std::int64_t kTextWidth = 64;

}  // namespace tessera::runtime::llama::random_model
