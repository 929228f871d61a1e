#include "prompt/prompt_builder.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "prompt/fit_images.h"

namespace tessera::prompt {
namespace {

/// A sequence needs room for one output token at least.
constexpr int kOutputTokensMin = 1;

/// What each image of the prompt may cost, in order of appearance.
std::vector<ImageWish> wishes_of(const Request& request, std::span<const ImageSize> sizes,
                                 const Limits& limits) {
  std::vector<ImageWish> wishes;
  for (const Message& message : request.messages) {
    for (const ContentPart& part : message.parts) {
      const auto* image = std::get_if<ImagePart>(&part);
      if (image == nullptr || wishes.size() == sizes.size()) continue;
      const int limit = limits.image_visual_tokens_max;
      wishes.push_back({sizes[wishes.size()], image->detail,
                        std::min(image->visual_tokens_max.value_or(limit), limit)});
    }
  }
  return wishes;
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
  const std::vector<ImageWish> wishes = wishes_of(request, sizes, limits);
  const int limit = limits.visual_tokens_max;
  TSR_ASSIGN_OR_RETURN(
      const std::vector<FittedImage> fitted,
      fit_images(model, wishes, std::min(request.visual_tokens_max.value_or(limit), limit)));
  std::vector<ImageInput> inputs;
  for (const FittedImage& image : fitted) inputs.push_back(image.input);
  TSR_ASSIGN_OR_RETURN(Prompt prompt, model.tokenize(parts, inputs));
  for (std::size_t i = 0; i < prompt.images.size(); ++i) {
    prompt.images[i].source = sizes[i];
    prompt.images[i].budget = fitted[i].budget;
  }
  TSR_RETURN_IF_ERROR(check_context(prompt, model.info().context_length));
  if (!ends_in_text(prompt)) {
    return make_error(ErrorCode::kInvalidArgument, "prompt_empty",
                      "the model's chat template leaves nothing to answer", "messages");
  }
  return prompt;
}

}  // namespace tessera::prompt
