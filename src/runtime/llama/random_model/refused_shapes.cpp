// A family whose images we refuse (LlamaModel::check_place).
#include "runtime/llama/random_model/language_part.h"
#include "runtime/llama/random_model/shapes.h"
#include "runtime/llama/random_model/vision_part.h"

namespace tessera::runtime::llama::random_model {
namespace {

/// Padded in front, so that the image's tokens begin where four tokens of the prompt do.
Halves make_deepseek4(const std::string& name) {
  Tower tower = rms_tower("deepseek4v");
  const std::int64_t merged = tower.width * 9;  // 3 × 3 patches make a token
  ModelFile vision = make_vision_file(tower, kTextWidth);
  vision.set("clip.vision.projector.scale_factor", 3);
  vision.set("clip.vision.image_min_pixels", 12'544);
  vision.linear("mm.1", merged, kTextWidth);
  vision.linear("mm.2", kTextWidth, kTextWidth);
  vision.floats("v.image_newline", {kTextWidth});
  for (const char* part : {"img_start", "img_end", "img_pad"}) {
    vision.floats(std::string("v.token_embd.") + part, {kTextWidth});
  }
  return {make_language_file(name, tiny_llama()), std::move(vision)};
}

}  // namespace

std::vector<Shape> refused_shapes() {
  return {{"tiny-deepseek4", make_deepseek4}};
}

}  // namespace tessera::runtime::llama::random_model
