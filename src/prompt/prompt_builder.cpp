#include "prompt/prompt_builder.h"

#include <string>

namespace tessera::prompt {
namespace {

/// A sequence needs room for one output token at least.
constexpr int kOutputTokensMin = 1;

Error too_many_visual_tokens(const std::string& what, int n_tokens, int limit) {
  return make_error(
      ErrorCode::kTooLarge, "visual_tokens_exceeded",
      what + std::to_string(n_tokens) + " visual tokens; the limit is " + std::to_string(limit),
      "messages");
}

Result<void> check_visual_tokens(const Prompt& prompt, const Limits& limits) {
  for (std::size_t i = 0; i < prompt.images.size(); ++i) {
    const int n_tokens = prompt.images[i].n_visual_tokens;
    if (n_tokens > limits.image_visual_tokens_max) {
      return too_many_visual_tokens("image " + std::to_string(i + 1) + " needs ", n_tokens,
                                    limits.image_visual_tokens_max);
    }
  }
  if (prompt.n_visual_tokens > limits.visual_tokens_max) {
    return too_many_visual_tokens("the images need ", prompt.n_visual_tokens,
                                  limits.visual_tokens_max);
  }
  return {};
}

Result<void> check_context(const Prompt& prompt, int context_length) {
  if (prompt.n_tokens() + kOutputTokensMin > context_length) {
    return make_error(ErrorCode::kInvalidArgument, "context_length_exceeded",
                      "the prompt has " + std::to_string(prompt.n_tokens()) + " tokens (" +
                          std::to_string(prompt.n_visual_tokens) + " visual, " +
                          std::to_string(prompt.n_text_tokens) +
                          " text); the model's context length is " + std::to_string(context_length),
                      "messages");
  }
  return {};
}

/// The first output token is sampled from the last text row, so a prompt must end in text.
bool ends_in_text(const Prompt& prompt) {
  if (prompt.segments.empty()) return false;
  const auto* text = std::get_if<TextSegment>(&prompt.segments.back());
  return text != nullptr && !text->tokens.empty();
}

}  // namespace

Result<Prompt> build_prompt(const runtime::Model& model, const Request& request,
                            std::span<const ImageSize> sizes, const Limits& limits) {
  TSR_ASSIGN_OR_RETURN(const auto parts, model.apply_chat_template(request.messages));
  TSR_ASSIGN_OR_RETURN(Prompt prompt, model.tokenize(parts, sizes));
  TSR_RETURN_IF_ERROR(check_visual_tokens(prompt, limits));
  TSR_RETURN_IF_ERROR(check_context(prompt, model.info().context_length));
  if (!ends_in_text(prompt)) {
    return make_error(ErrorCode::kInvalidArgument, "prompt_empty",
                      "the model's chat template leaves nothing to answer", "messages");
  }
  return prompt;
}

}  // namespace tessera::prompt
