#include "generate/request_need.h"

#include <algorithm>
#include <string>

namespace tessera::generate {
namespace {

Error prompt_invalid(const std::string& what) {
  return make_error(ErrorCode::kInternal, "prompt_invalid", "the prompt is inconsistent: " + what);
}

Error too_long(std::string message) {
  return make_error(ErrorCode::kInvalidArgument, "context_length_exceeded", std::move(message),
                    "messages");
}

Error too_large(std::string reason, std::string message) {
  return make_error(ErrorCode::kTooLarge, std::move(reason), std::move(message));
}

Result<void> check_prompt(const InFlight& request, int n_rows_max) {
  const Prompt& prompt = request.prompt;
  std::size_t n_visual = 0;
  int n_tokens = 0;
  for (const Segment& segment : prompt.segments) {
    n_tokens += segment_tokens(segment);
    const auto* visual = std::get_if<VisualSegment>(&segment);
    if (visual == nullptr) continue;
    if (n_visual >= request.embeddings.size()) return prompt_invalid("an embedding is missing");
    const auto& embedding = request.embeddings[n_visual++];
    const bool is_missing = embedding == nullptr && request.arriving == nullptr;
    if (is_missing || (embedding != nullptr && embedding->n_tokens != visual->n_tokens) ||
        visual->positions.size() != static_cast<std::size_t>(visual->n_tokens)) {
      return prompt_invalid("an embedding of another size");
    }
    if (visual->non_causal && visual->n_tokens > n_rows_max) {
      return too_large("image_tokens_exceeded", "image " + std::to_string(visual->image_index) +
                                                    ": a tile of " +
                                                    std::to_string(visual->n_tokens) +
                                                    " visual tokens, this model takes at most " +
                                                    std::to_string(n_rows_max) + " at once");
    }
  }
  if (n_visual != request.embeddings.size()) return prompt_invalid("an embedding too many");
  if (n_tokens != prompt.n_tokens()) return prompt_invalid("token counts differ");
  // The scores of the first output token come from the last row, which must be of text.
  const bool ends_in_text = !prompt.segments.empty() &&
                            std::holds_alternative<TextSegment>(prompt.segments.back()) &&
                            segment_tokens(prompt.segments.back()) > 0;
  if (!ends_in_text) return prompt_invalid("it does not end in text");
  return {};
}

}  // namespace

Result<RequestNeed> need_of(const InFlight& request, const runtime::ModelInfo& info,
                            const EngineSize& engine, const EngineOptions& options) {
  TSR_RETURN_IF_ERROR(check_prompt(request, engine.n_rows_max));
  const int n_prompt = request.prompt.n_tokens();
  const int n_choices = request.request.n_choices;
  if (n_prompt >= info.context_length) {
    return too_long("the prompt has " + std::to_string(n_prompt) +
                    " tokens, the context length is " + std::to_string(info.context_length) +
                    " with at least one output token");
  }
  if (n_choices < 1 || n_choices > engine.n_sequences) {
    return too_large("too_many_choices", std::to_string(n_choices) +
                                             " choices, this server computes between 1 and " +
                                             std::to_string(engine.n_sequences));
  }
  // A client that did not say how long the answer may be gets one that fits.
  const int n_fitting = std::max(1, engine.n_kv_cells / n_choices - n_prompt);
  const int n_asked = request.request.max_output_tokens.value_or(
      std::min(options.output_tokens_default, n_fitting));
  RequestNeed need;
  need.output_limit =
      std::max(1, std::min({n_asked, options.output_tokens_max, info.context_length - n_prompt}));
  need.total = {
      n_choices,
      std::int64_t{n_choices} * schedule::n_cells_soon(n_prompt, /*n_output=*/0, need.output_limit),
      std::int64_t{n_choices} * (n_prompt + need.output_limit)};
  if (need.total.n_kv_cells_most > engine.n_kv_cells) {
    return too_long(std::to_string(n_choices) + " × (" + std::to_string(n_prompt) + " prompt + " +
                    std::to_string(need.output_limit) + " output) tokens exceed the " +
                    std::to_string(engine.n_kv_cells) + " that this server can hold");
  }
  return need;
}

}  // namespace tessera::generate
