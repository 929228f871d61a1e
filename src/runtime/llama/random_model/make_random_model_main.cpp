// Writes the model files of a shape, with random weights:
//
//   tessera-make-random-model --list
//   tessera-make-random-model SHAPE FOLDER     FOLDER/SHAPE.gguf and FOLDER/mmproj-SHAPE.gguf
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "runtime/llama/random_model/random_model.h"

int main(int argc, char** argv) {
  using namespace tessera::runtime::llama::random_model;
  const std::vector<Shape> shapes = all_shapes();
  if (argc == 2 && std::string_view(argv[1]) == "--list") {
    for (const Shape& shape : shapes) std::printf("%s\n", shape.name.c_str());
    return 0;
  }
  if (argc != 3) {
    std::fputs("usage: tessera-make-random-model --list | SHAPE FOLDER\n", stderr);
    return 2;
  }
  const auto shape = std::ranges::find(shapes, argv[1], &Shape::name);
  if (shape == shapes.end()) {
    std::fprintf(stderr, "tessera-make-random-model: no shape %s; see --list\n", argv[1]);
    return 2;
  }
  if (make_model(*shape, argv[2])) return 0;
  std::fprintf(stderr, "tessera-make-random-model: cannot write to %s\n", argv[2]);
  return 1;
}
