// What the values consist of that go between the server and its engine process: a function for each
// type, for both directions (parcel_writer.h).
#pragma once

#include "core/embedding.h"
#include "core/error.h"
#include "core/image.h"
#include "core/prompt.h"
#include "core/request.h"
#include "core/token_event.h"
#include "runtime/remote/parcel_reader.h"
#include "runtime/remote/parcel_writer.h"
#include "runtime/runtime.h"

namespace tessera {

constexpr ErrorCode last_value(ErrorCode) {
  return ErrorCode::kInternal;
}
constexpr Role last_value(Role) {
  return Role::kAssistant;
}
constexpr ImageDetail last_value(ImageDetail) {
  return ImageDetail::kHigh;
}
constexpr ResponseFormat::Kind last_value(ResponseFormat::Kind) {
  return ResponseFormat::Kind::kJsonSchema;
}

void pass(auto& parcel, Of<Error> auto& error) {
  parcel(error.code, error.reason, error.message, error.param, error.retry_after);
}

// --- images and prompts ---

void pass(auto& parcel, Of<ImageSize> auto& size) {
  parcel(size.width, size.height);
}
void pass(auto& parcel, Of<Image> auto& image) {
  parcel(image.size, image.rgb);
}
void pass(auto& parcel, Of<ImageInput> auto& input) {
  parcel(input.size, input.overview_only);
}
void pass(auto& parcel, Of<ImagePlan> auto& plan) {
  parcel(plan.source, plan.planned, plan.n_tiles, plan.overview_only, plan.first_tile,
         plan.n_visual_tokens, plan.n_patches, plan.decoded, plan.budget, plan.n_cached_tiles);
}
void pass(auto& parcel, Of<TextSegment> auto& segment) {
  parcel(segment.tokens, segment.first_position);
}
void pass(auto& parcel, Of<VisualSegment> auto& segment) {
  parcel(segment.image_index, segment.tile_index, segment.n_tokens, segment.non_causal,
         segment.positions);
}
void pass(auto& parcel, Of<Prompt> auto& prompt) {
  parcel(prompt.segments, prompt.images, prompt.n_text_tokens, prompt.n_visual_tokens,
         prompt.n_positions);
}
void pass(auto& parcel, Of<Embedding> auto& embedding) {
  parcel(embedding.n_tokens, embedding.row_width, embedding.rows);
}

// --- messages ---

void pass(auto& parcel, Of<TextPart> auto& part) {
  parcel(part.text);
}
void pass(auto& parcel, Of<ImagePart> auto& part) {
  parcel(part.media_index, part.detail, part.visual_tokens_max);
}
void pass(auto& parcel, Of<Message> auto& message) {
  parcel(message.role, message.parts);
}

// --- sampling ---

void pass(auto& parcel, Of<SamplingOptions> auto& sampling) {
  parcel(sampling.temperature, sampling.top_p, sampling.top_k, sampling.seed);
}
void pass(auto& parcel, Of<ResponseFormat> auto& format) {
  parcel(format.kind, format.json_schema);
}
void pass(auto& parcel, Of<TokenLogprob> auto& token) {
  parcel(token.token, token.piece, token.logprob);
}

}  // namespace tessera

namespace tessera::runtime {

constexpr DecodeStatus last_value(DecodeStatus) {
  return DecodeStatus::kLost;
}

void pass(auto& parcel, Of<TemplateText> auto& part) {
  parcel(part.text);
}
void pass(auto& parcel, Of<UserText> auto& part) {
  parcel(part.text);
}
void pass(auto& parcel, Of<MediaPlace> auto& part) {
  parcel(part.image_index);
}
void pass(auto& parcel, Of<SamplerOptions> auto& options) {
  parcel(options.sampling, options.format, options.logprobs, options.n_top_logprobs);
}
void pass(auto& parcel, Of<SampledToken> auto& token) {
  parcel(token.token, token.ends_generation, token.logprob, token.top_logprobs);
}
void pass(auto& parcel, Of<CallResult> auto& result) {
  parcel(result.status, result.sampled);
}
void pass(auto& parcel, Of<KvRange> auto& range) {
  parcel(range.first_token, range.n_tokens, range.begin, range.end);
}
void pass(auto& parcel, Of<LanguageShape> auto& shape) {
  parcel(shape.n_layers, shape.width, shape.n_heads, shape.n_kv_heads, shape.head_dim,
         shape.ffn_width, shape.n_parameters);
}
void pass(auto& parcel, Of<VisionShape> auto& shape) {
  parcel(shape.n_layers, shape.width, shape.ffn_width, shape.patch_side, shape.image_side);
}
void pass(auto& parcel, Of<ModelInfo> auto& info) {
  parcel(info.name, info.context_length, info.n_vocabulary, info.embedding_row_width,
         info.has_vision, info.uses_mrope, info.has_overview, info.language, info.vision,
         info.weight_bytes);
}
void pass(auto& parcel, Of<LoadOptions> auto& options) {
  parcel(options.model_path, options.mmproj_path, options.context_length, options.n_sequences_max,
         options.n_kv_cells, options.n_threads);
}

}  // namespace tessera::runtime
