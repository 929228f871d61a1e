// Shows a model one tile that has the whole image, where the library always makes many.
//
// Idefics3 (SmolVLM): every image, however small, is enlarged to the model's longest edge and cut
// into up to sixteen tiles, with an overview after them:
//
//   <fake_token_around_image><row_1_col_1> tile … \n\n<fake_token_around_image><global-img>
//   overview <fake_token_around_image>
//
// The models were trained on undivided images as well, which are written
//
//   <fake_token_around_image><global-img> overview <fake_token_around_image>
//
// (Hugging Face transformers, processing_idefics3.py, get_image_prompt_string). The library has no
// option for it. So the start is put in front of the image's place, and of what the library makes
// of it everything is left out but the overview and what follows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/prompt.h"
#include "runtime/llama/handles.h"
#include "runtime/llama/special_tokens.h"

namespace tessera::runtime::llama {

/// @thread immutable after construction
class OverviewCut {
 public:
  /// Not possible.
  OverviewCut() = default;
  /// @param projector  clip.projector_type of the projector's file
  OverviewCut(std::string_view projector, const llama_vocab* vocabulary);

  bool is_possible() const { return !tile_start_.empty(); }

  /// Puts the overview's start in front of the images that are shown by it alone.
  std::vector<Run> mark(std::vector<Run> runs, std::span<const ImageInput> images) const;

  /// Takes the start of the first tile from the end of a prompt.
  /// @return  false when it is not there: the library does something else than it did
  bool drop_tile_start(Prompt& prompt) const;

 private:
  std::vector<TokenId> tile_start_;
};

}  // namespace tessera::runtime::llama
