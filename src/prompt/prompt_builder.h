// Stage 4: messages and image sizes → a prompt with exact token counts, before a pixel is decoded.
// Pure functions; may be called from any thread.
#pragma once

#include <span>

#include "core/limits.h"
#include "core/prompt.h"
#include "core/request.h"
#include "core/result.h"
#include "runtime/runtime.h"

namespace tessera::prompt {

/// Renders the chat template, fits the images into their visual tokens (fit_images.h) and checks
/// the result against the context length.
/// @param sizes  one per image, in order of appearance in the messages
/// @errors       invalid_argument (messages, image sizes); too_large: `visual_tokens_exceeded`,
///               `context_length_exceeded`, with the numbers
Result<Prompt> build_prompt(const runtime::Model& model, const Request& request,
                            std::span<const ImageSize> sizes, const Limits& limits);

}  // namespace tessera::prompt
