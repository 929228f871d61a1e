// What a model makes of one image, from its size alone. Any thread.
#pragma once

#include <array>

#include "runtime/runtime.h"

namespace tessera::runtime {

/// As Model::tokenize() plans it in a prompt.
/// @errors  as Model::tokenize()
inline Result<ImagePlan> plan_image(const Model& model, const ImageInput& image) {
  const std::array<PromptPart, 1> parts{MediaPlace{0}};
  TSR_ASSIGN_OR_RETURN(const Prompt prompt, model.tokenize(parts, {&image, 1}));
  return prompt.images.front();
}

}  // namespace tessera::runtime
