// Pairs of model files with the names, shapes and metadata that libllama and libmtmd load, and
// random weights from a fixed seed. They answer nonsense, but cost what a real model of the shape
// costs, and size and cut images exactly as their family does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/llama/random_model/shapes.h"

namespace tessera::runtime::llama::random_model {

/// Every shape, real ones first.
std::vector<Shape> all_shapes();

struct ModelFiles {
  std::string model_path;
  std::string mmproj_path;
};

/// Where a shape's files are inside a folder: NAME.gguf and mmproj-NAME.gguf.
ModelFiles files_of(std::string_view name, const std::string& folder);

/// Writes both; whoever finds the files under their names finds them whole. False when the disk
/// does not take them.
bool make_model(const Shape& shape, const std::string& folder);

}  // namespace tessera::runtime::llama::random_model
