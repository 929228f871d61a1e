#include "runtime/fake/fake_model.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/fake/fake_sampler.h"
#include "runtime/fake/fake_transcript.h"
#include "runtime/fake/fake_vision.h"

namespace tessera::runtime::fake {
namespace {

struct Special {
  std::string_view text;
  TokenId token;
};

constexpr Special kSpecials[] = {
    {"<|end|>", kEndToken},         {"<|image|>", kImageBeginToken},
    {"<|/image|>", kImageEndToken}, {"<|system|>", kSystemToken},
    {"<|user|>", kUserToken},       {"<|assistant|>", kAssistantToken},
};

std::string_view special_of(Role role) {
  switch (role) {
    case Role::kSystem:
      return "<|system|>";
    case Role::kUser:
      return "<|user|>";
    case Role::kAssistant:
      return "<|assistant|>";
  }
  return "";
}

Result<void> check_size(ImageSize size, std::size_t image_index) {
  const int shorter = std::min(size.width, size.height);
  const int longer = std::max(size.width, size.height);
  if (shorter >= 1 && longer / shorter <= kAspectMax) return {};
  return make_error(ErrorCode::kInvalidArgument, "image_size_unsupported",
                    "image " + std::to_string(image_index) + ": " + std::to_string(size.width) +
                        "×" + std::to_string(size.height) + " pixels, the longer side may be " +
                        std::to_string(kAspectMax) + " times the shorter");
}

/// Appends to a prompt and keeps its counts and positions.
class PromptBuilder {
 public:
  explicit PromptBuilder(const FakeOptions& options) : options_(options) {}

  void add_token(TokenId token) {
    if (prompt.segments.empty() || !std::holds_alternative<TextSegment>(prompt.segments.back())) {
      prompt.segments.emplace_back(TextSegment{{}, prompt.n_positions});
    }
    std::get<TextSegment>(prompt.segments.back()).tokens.push_back(token);
    ++prompt.n_text_tokens;
    ++prompt.n_positions;
  }

  void add_text(std::string_view text, bool with_specials) {
    while (!text.empty()) {
      const auto* special =
          std::find_if(std::begin(kSpecials), std::end(kSpecials),
                       [&](const Special& candidate) { return text.starts_with(candidate.text); });
      if (with_specials && special != std::end(kSpecials)) {
        add_token(special->token);
        text.remove_prefix(special->text.size());
      } else {
        add_token(static_cast<unsigned char>(text.front()));
        text.remove_prefix(1);
      }
    }
  }

  void add_image(std::size_t image_index, const ImageInput& input) {
    std::vector<TilePlan> tiles = plan_tiles(input.size, options_.tile_side);
    if (input.overview_only) tiles.resize(1);
    ImagePlan plan;
    plan.source = plan.decoded = input.size;
    plan.planned = tiles.size() > 1 ? input.size : tiles.front().size;
    plan.n_tiles = static_cast<int>(tiles.size());
    plan.overview_only = input.overview_only;
    add_token(kImageBeginToken);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      add_tile(image_index, i, tiles[i]);
      plan.n_visual_tokens += tiles[i].n_tokens();
      if (i + 1 < tiles.size()) add_token(tiles[i].ends_row ? '\n' : ' ');
    }
    add_token(kImageEndToken);
    plan.n_patches = plan.n_visual_tokens;
    prompt.images.push_back(plan);
  }

  Prompt prompt;

 private:
  void add_tile(std::size_t image_index, std::size_t tile_index, const TilePlan& tile) {
    VisualSegment segment{image_index, tile_index, tile.n_tokens(), options_.non_causal_images, {}};
    const Position first = prompt.n_positions;
    for (int i = 0; i < segment.n_tokens; ++i) {
      const Position row = i / tile.n_columns();
      const Position column = i % tile.n_columns();
      segment.positions.push_back(options_.uses_mrope
                                      ? VisualPosition{first, first + row, first + column, 0}
                                      : VisualPosition{first + i, 0, 0, 0});
    }
    prompt.n_positions +=
        options_.uses_mrope ? std::max(tile.n_rows(), tile.n_columns()) : segment.n_tokens;
    prompt.n_visual_tokens += segment.n_tokens;
    prompt.segments.emplace_back(std::move(segment));
  }

  const FakeOptions& options_;
};

}  // namespace

FakeModel::FakeModel(FakeOptions options, std::shared_ptr<FakeControl> control)
    : options_(std::move(options)), control_(std::move(control)) {
  info_.name = "fake";
  info_.context_length = options_.context_length;
  info_.n_vocabulary = kVocabularySize;
  info_.embedding_row_width = options_.embedding_row_width;
  info_.has_vision = options_.has_vision;
  info_.uses_mrope = options_.uses_mrope;
  info_.has_overview = options_.has_overview;
  info_.language = {2, 8, 2, 1, 4, 16, 10'000};
  if (options_.has_vision) info_.vision = {2, 8, 16, kCellSide, options_.tile_side};
  info_.weight_bytes = 40'000;
}

Result<std::vector<PromptPart>> FakeModel::apply_chat_template(
    std::span<const Message> messages) const {
  TSR_RETURN_IF_ERROR(
      control_->check(Call::kApplyChatTemplate, "template_failed", "the chat template failed"));
  if (messages.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "template_refused",
                      "the chat template needs at least one message");
  }
  std::vector<PromptPart> parts;
  std::size_t n_images = 0;
  for (const Message& message : messages) {
    parts.emplace_back(TemplateText{std::string(special_of(message.role))});
    for (const ContentPart& part : message.parts) {
      if (const auto* text = std::get_if<TextPart>(&part)) {
        parts.emplace_back(UserText{text->text});
      } else {
        parts.emplace_back(MediaPlace{n_images++});
      }
    }
  }
  parts.emplace_back(TemplateText{std::string(special_of(Role::kAssistant))});
  return parts;
}

Result<Prompt> FakeModel::tokenize(std::span<const PromptPart> parts,
                                   std::span<const ImageInput> images) const {
  TSR_RETURN_IF_ERROR(control_->check(Call::kTokenize, "tokenize_failed", "the tokenizer failed"));
  PromptBuilder builder(options_);
  for (const PromptPart& part : parts) {
    if (const auto* text = std::get_if<TemplateText>(&part)) {
      builder.add_text(text->text, /*with_specials=*/true);
    } else if (const auto* user = std::get_if<UserText>(&part)) {
      builder.add_text(user->text, /*with_specials=*/false);
    } else {
      const std::size_t image_index = std::get<MediaPlace>(part).image_index;
      if (!options_.has_vision) {
        return make_error(ErrorCode::kInvalidArgument, "images_unsupported",
                          "this model takes no images");
      }
      if (image_index != builder.prompt.images.size() || image_index >= images.size()) {
        control_->violation("tokenize: images and sizes do not match");
        return make_error(ErrorCode::kInternal, "tokenize_failed", "the tokenizer failed");
      }
      TSR_RETURN_IF_ERROR(check_size(images[image_index].size, image_index));
      builder.add_image(image_index, images[image_index]);
    }
  }
  return std::move(builder.prompt);
}

Result<std::vector<std::unique_ptr<PreparedTile>>> FakeModel::prepare(const Image& image) const {
  TSR_RETURN_IF_ERROR(
      control_->check(Call::kPrepare, "prepare_failed", "the preprocessing failed"));
  TSR_RETURN_IF_ERROR(check_size(image.size, 0));
  if (image.rgb.size() != static_cast<std::size_t>(image.size.pixels()) * 3) {
    control_->violation("prepare: the pixels do not fill the image");
    return make_error(ErrorCode::kInternal, "prepare_failed", "the preprocessing failed");
  }
  std::vector<std::unique_ptr<PreparedTile>> tiles;
  for (const TilePlan& plan : plan_tiles(image.size, options_.tile_side)) {
    tiles.push_back(std::make_unique<FakeTile>(prepare_tile(image, plan)));
  }
  return tiles;
}

std::string FakeModel::piece(TokenId token) const {
  if (token < 0 || token >= kEndToken) return {};
  return std::string(1, static_cast<char>(token));
}

Result<std::unique_ptr<Sampler>> FakeModel::make_sampler(const SamplerOptions& options) const {
  TSR_RETURN_IF_ERROR(control_->check(Call::kMakeSampler, "sampler_failed", "the sampler failed"));
  if (options.format.kind == ResponseFormat::Kind::kJsonSchema &&
      !options.format.json_schema.starts_with('{')) {
    return make_error(ErrorCode::kInvalidArgument, "json_schema_invalid",
                      "the JSON schema has no grammar", "response_format.json_schema");
  }
  return std::unique_ptr<Sampler>(std::make_unique<FakeSampler>(options, control_));
}

}  // namespace tessera::runtime::fake
