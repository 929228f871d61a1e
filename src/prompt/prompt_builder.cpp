#include "prompt/prompt_builder.h"

#include <string>

namespace tessera::prompt {
namespace {

/// A sequence needs room for one output token at least.
constexpr int kOutputTokensMin = 1;

Result<void> check_counts(const Prompt& prompt, int context_length, int visual_tokens_max) {
  if (prompt.n_visual_tokens > visual_tokens_max) {
    return make_error(ErrorCode::kTooLarge, "visual_tokens_exceeded",
                      "the images need " + std::to_string(prompt.n_visual_tokens) +
                          " visual tokens; the limit is " + std::to_string(visual_tokens_max),
                      "messages");
  }
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
  TSR_RETURN_IF_ERROR(check_counts(prompt, model.info().context_length, limits.visual_tokens_max));
  if (!ends_in_text(prompt)) {
    return make_error(ErrorCode::kInvalidArgument, "prompt_empty",
                      "the model's chat template leaves nothing to answer", "messages");
  }
  return prompt;
}

}  // namespace tessera::prompt
