#include "runtime/llama/random_model/random_model.h"

#include <filesystem>

namespace tessera::runtime::llama::random_model {
namespace {

/// Any; another seed would make other answers.
constexpr std::uint64_t kSeed = 20261;

bool write_whole(const ModelFile& file, const std::string& path) {
  const std::string unfinished = path + ".unfinished";
  std::error_code error;
  if (!file.write(unfinished, kSeed)) {
    std::filesystem::remove(unfinished, error);
    return false;
  }
  std::filesystem::rename(unfinished, path, error);
  return !error;
}

}  // namespace

std::vector<Shape> all_shapes() {
  std::vector<Shape> all;
  for (const auto& shapes :
       {real_shapes(), fixed_shapes(), tiled_shapes(), grid_shapes(), dynamic_shapes(),
        merged_shapes(), stacked_shapes(), refused_shapes()}) {
    all.insert(all.end(), shapes.begin(), shapes.end());
  }
  return all;
}

ModelFiles files_of(std::string_view name, const std::string& folder) {
  const std::string file = std::string(name) + ".gguf";
  return {folder + "/" + file, folder + "/mmproj-" + file};
}

bool make_model(const Shape& shape, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const Halves halves = shape.make(shape.name);
  const ModelFiles files = files_of(shape.name, folder);
  return write_whole(halves.language, files.model_path) &&
         write_whole(halves.vision, files.mmproj_path);
}

}  // namespace tessera::runtime::llama::random_model
