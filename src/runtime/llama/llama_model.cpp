#include "runtime/llama/llama_model.h"

#include <algorithm>
#include <limits>

#include "runtime/llama/llama_sampler.h"

namespace tessera::runtime::llama {
namespace {

/// Guards of our own before libmtmd sees a size, whatever an operator allows: 32768² stays below
/// INT_MAX, which its arithmetic needs, and beyond 200:1 some of its preprocessors round a side to
/// zero and abort.
constexpr int kSideMax = 32'767;
constexpr int kAspectMax = 200;

bool is_too_long(ImageSize size) {
  const auto [shorter, longer] = std::minmax(size.width, size.height);
  return longer > shorter * kAspectMax;
}

Result<void> check_size(std::size_t image, ImageSize size) {
  const std::string what = "image " + std::to_string(image + 1) + ": " +
                           std::to_string(size.width) + "×" + std::to_string(size.height);
  const auto [shorter, longer] = std::minmax(size.width, size.height);
  if (shorter < 1 || longer > kSideMax) {
    return make_error(ErrorCode::kTooLarge, "image_side_too_large",
                      what + " has a side outside 1 to " + std::to_string(kSideMax) + " pixels");
  }
  if (is_too_long(size)) {
    return make_error(ErrorCode::kTooLarge, "image_aspect_too_large",
                      what + " is longer than " + std::to_string(kAspectMax) + ":1");
  }
  return {};
}

Error internal(std::string message) {
  return make_error(ErrorCode::kInternal, "internal_error", std::move(message));
}

/// Of a tile: its image, which was named by its number.
std::size_t image_of(const mtmd_input_chunk& native) {
  return std::strtoul(mtmd_input_chunk_get_id(&native), nullptr, 10);
}

/// @errors  internal (a segment that is neither text nor a tile of one of the images)
Result<std::vector<int>> count_tiles(const mtmd_input_chunks& native, std::size_t n_images) {
  std::vector<int> n_tiles(n_images, 0);
  for (std::size_t i = 0; i < mtmd_input_chunks_size(&native); ++i) {
    const mtmd_input_chunk* item = mtmd_input_chunks_get(&native, i);
    const auto kind = mtmd_input_chunk_get_type(item);
    if (kind == MTMD_INPUT_CHUNK_TYPE_TEXT) continue;
    if (kind != MTMD_INPUT_CHUNK_TYPE_IMAGE) {
      return internal("the tokenizer gave a segment of an unknown kind");
    }
    if (image_of(*item) >= n_images) return internal("an image lost its number");
    ++n_tiles[image_of(*item)];
  }
  return n_tiles;
}

void add_text(Prompt& prompt, const mtmd_input_chunk& native) {
  std::size_t n = 0;
  const llama_token* tokens = mtmd_input_chunk_get_tokens_text(&native, &n);
  prompt.segments.emplace_back(
      TextSegment{std::vector<TokenId>(tokens, tokens + n), prompt.n_positions});
  prompt.n_text_tokens += static_cast<int>(n);
  prompt.n_positions += mtmd_input_chunk_get_n_pos(&native);
}

BitmapHandle placeholder(ImageSize size) {
  return BitmapHandle(mtmd_bitmap_init(static_cast<std::uint32_t>(size.width),
                                       static_cast<std::uint32_t>(size.height), nullptr));
}

std::size_t n_image_tokens(const mtmd_input_chunks& native) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < mtmd_input_chunks_size(&native); ++i) {
    const mtmd_input_chunk* item = mtmd_input_chunks_get(&native, i);
    if (mtmd_input_chunk_get_type(item) != MTMD_INPUT_CHUNK_TYPE_IMAGE) continue;
    n += mtmd_input_chunk_get_n_tokens(item);
  }
  return n;
}

/// Planned size of an image whose tokens form one grid (M-RoPE families).
ImageSize grid_size(const VisualSegment& segment, int token_side) {
  Position x_max = 0;
  Position y_max = 0;
  const auto& first = segment.positions.front();
  for (const VisualPosition& p : segment.positions) {
    y_max = std::max(y_max, p[1] - first[1]);
    x_max = std::max(x_max, p[2] - first[2]);
  }
  return {(x_max + 1) * token_side, (y_max + 1) * token_side};
}

/// A model whose one tile is the whole image, resized: it takes the same tile from an image that
/// was resized before, because the planned size plans itself (llama_model_test.cpp).
ImageSize decoded_size(const ImagePlan& plan, bool one_grid) {
  const bool shrinks =
      plan.planned.width <= plan.source.width && plan.planned.height <= plan.source.height;
  // Rounded to whole patches, a strip at the limit is longer than it.
  const bool fits = shrinks && !is_too_long(plan.planned);
  return one_grid && plan.n_tiles == 1 && fits ? plan.planned : plan.source;
}

}  // namespace

/// DeepSeek-4V pads an image by its place in the prompt. A tile is prepared, and cached, without
/// one: its rows would not be the planned ones. The library does not say whose projector it runs,
/// but an image by itself and one behind a token have different numbers of tokens.
Result<void> LlamaModel::check_place(ImageSize size) const {
  // What pads is non-causal; for the others this would only cost time.
  if (!mtmd_decode_use_non_causal(vision_.get(), nullptr)) return {};
  std::vector<BitmapHandle> images;
  images.push_back(placeholder(size));
  const Run image{Run::Kind::kMedia, {}, 0};
  const std::vector<Run> alone{image};
  const std::vector<Run> behind{{Run::Kind::kPlain, "x", 0}, image};
  TSR_ASSIGN_OR_RETURN(const SegmentsHandle first, run_mtmd(alone, images));
  TSR_ASSIGN_OR_RETURN(const SegmentsHandle second, run_mtmd(behind, images));
  if (n_image_tokens(*first) == n_image_tokens(*second)) return {};
  return make_error(ErrorCode::kInvalidArgument, "image_not_supported",
                    "this model pads images by their place in the prompt, which is not supported");
}

Result<SegmentsHandle> LlamaModel::run_mtmd(std::span<const Run> runs,
                                            std::span<const BitmapHandle> bitmaps) const {
  std::vector<mtmd_input_text> texts(runs.size());
  std::vector<mtmd_input_part> parts(runs.size());
  std::vector<const mtmd_input_part*> pointers(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].kind == Run::Kind::kMedia) {
      parts[i].bitmap = bitmaps[runs[i].image_index].get();
    } else {
      const bool special = runs[i].kind == Run::Kind::kSpecial;
      texts[i] = {runs[i].text.data(), runs[i].text.size(), /*add_special=*/false, special};
      parts[i].text = &texts[i];
    }
    pointers[i] = &parts[i];
  }
  SegmentsHandle native(mtmd_input_chunks_init());
  const int code = mtmd_tokenize_from_parts(vision_.get(), native.get(), pointers.data(),
                                            pointers.size(), /*add_special=*/true);
  if (code != 0) {
    return make_error(ErrorCode::kInvalidArgument, "image_not_supported",
                      "the model's preprocessing refuses an image of this size");
  }
  return native;
}

Result<Prompt> LlamaModel::tokenize_text(std::span<const Run> runs) const {
  TextSegment segment;
  const llama_vocab* vocab = vocabulary();
  if (llama_vocab_get_add_bos(vocab)) segment.tokens.push_back(llama_vocab_bos(vocab));
  for (const Run& run : runs) {
    if (run.text.size() > std::numeric_limits<std::int32_t>::max() / 2) {
      return make_error(ErrorCode::kInvalidArgument, "context_length_exceeded",
                        "the prompt is too long");
    }
    const auto length = static_cast<std::int32_t>(run.text.size());
    const std::size_t n_before = segment.tokens.size();
    // No tokenizer makes more tokens than bytes, but for a space that it may put in front.
    segment.tokens.resize(n_before + run.text.size() + 1);
    const int n = llama_tokenize(vocab, run.text.data(), length, segment.tokens.data() + n_before,
                                 length + 1, false, run.kind == Run::Kind::kSpecial);
    if (n < 0) return internal("the tokenizer failed");
    segment.tokens.resize(n_before + static_cast<std::size_t>(n));
  }
  Prompt prompt;
  prompt.n_text_tokens = static_cast<int>(segment.tokens.size());
  prompt.n_positions = prompt.n_text_tokens;
  if (!segment.tokens.empty()) prompt.segments.emplace_back(std::move(segment));
  return prompt;
}

Result<Prompt> LlamaModel::tokenize(std::span<const PromptPart> parts,
                                    std::span<const ImageInput> images) const {
  std::vector<Run> runs = special_tokens_.split(parts);
  const auto n_places = std::ranges::count(runs, Run::Kind::kMedia, &Run::kind);
  if (static_cast<std::size_t>(n_places) != images.size()) {
    return internal("a prompt's images and their sizes differ in number");
  }
  if (images.empty()) return tokenize_text(runs);
  if (vision_ == nullptr) {
    return make_error(ErrorCode::kInvalidArgument, "vision_not_supported",
                      "this model takes no images", "messages");
  }
  std::vector<BitmapHandle> placeholders;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const ImageSize size = images[i].size;
    TSR_RETURN_IF_ERROR(check_size(i, size));
    TSR_RETURN_IF_ERROR(check_place(size));
    placeholders.push_back(placeholder(size));
    mtmd_bitmap_set_id(placeholders.back().get(), std::to_string(i).c_str());
  }
  runs = overview_.mark(std::move(runs), images);
  TSR_ASSIGN_OR_RETURN(const SegmentsHandle native, run_mtmd(runs, placeholders));
  return to_prompt(*native, images);
}

Result<Prompt> LlamaModel::to_prompt(const mtmd_input_chunks& native,
                                     std::span<const ImageInput> images) const {
  Prompt prompt;
  TSR_ASSIGN_OR_RETURN(std::vector<int> n_tiles, count_tiles(native, images.size()));
  bool in_tiles = false;  // of an image of which only the overview, the last of them, is shown
  for (const ImageInput& image : images) {
    prompt.images.emplace_back().source = image.size;
    prompt.images.back().overview_only = image.overview_only && overview_.is_possible();
  }
  for (std::size_t i = 0; i < mtmd_input_chunks_size(&native); ++i) {
    const mtmd_input_chunk* item = mtmd_input_chunks_get(&native, i);
    if (mtmd_input_chunk_get_type(item) == MTMD_INPUT_CHUNK_TYPE_TEXT) {
      if (!in_tiles) add_text(prompt, *item);
      continue;
    }
    const std::size_t image = image_of(*item);
    if (prompt.images[image].overview_only && n_tiles[image] > 1) {
      if (!in_tiles && !overview_.drop_tile_start(prompt)) {
        return internal("the library writes tiles in another way than it did");
      }
      in_tiles = true;
      ++prompt.images[image].first_tile;
      --n_tiles[image];
      continue;
    }
    in_tiles = false;
    TSR_RETURN_IF_ERROR(add_image(prompt, *item));
  }
  for (ImagePlan& image : prompt.images) image.decoded = decoded_size(image, info_.uses_mrope);
  return prompt;
}

Result<void> LlamaModel::add_image(Prompt& prompt, const mtmd_input_chunk& native) const {
  TSR_ASSIGN_OR_RETURN(VisualSegment segment, to_visual(native, prompt.n_positions));
  add_to_plan(segment, prompt.images[segment.image_index]);
  prompt.n_visual_tokens += segment.n_tokens;
  prompt.n_positions += mtmd_input_chunk_get_n_pos(&native);
  prompt.segments.emplace_back(std::move(segment));
  return {};
}

Result<VisualSegment> LlamaModel::to_visual(const mtmd_input_chunk& native, Position start) const {
  VisualSegment segment;
  segment.image_index = image_of(native);
  segment.n_tokens = static_cast<int>(mtmd_input_chunk_get_n_tokens(&native));
  segment.non_causal = mtmd_decode_use_non_causal(vision_.get(), &native);
  if (segment.n_tokens < 1) return internal("an image has no visual tokens");
  if (segment.non_causal && segment.n_tokens > n_rows_max_) {
    return make_error(ErrorCode::kTooLarge, "image_too_large",
                      "an image needs " + std::to_string(segment.n_tokens) +
                          " visual tokens in one step; at most " + std::to_string(n_rows_max_) +
                          " fit");
  }
  const mtmd_image_tokens* tokens = mtmd_input_chunk_get_tokens_image(&native);
  segment.positions.reserve(static_cast<std::size_t>(segment.n_tokens));
  for (std::size_t i = 0; i < static_cast<std::size_t>(segment.n_tokens); ++i) {
    const mtmd_decoder_pos p = mtmd_image_tokens_get_decoder_pos(tokens, start, i);
    segment.positions.push_back({static_cast<Position>(p.t), static_cast<Position>(p.y),
                                 static_cast<Position>(p.x), static_cast<Position>(p.z)});
  }
  return segment;
}

void LlamaModel::add_to_plan(VisualSegment& segment, ImagePlan& plan) const {
  const VisionShape& shape = info_.vision;
  segment.tile_index = static_cast<std::size_t>(plan.n_tiles);
  plan.n_tiles += 1;
  plan.n_visual_tokens += segment.n_tokens;
  if (info_.uses_mrope && shape.patch_side > 0) {
    const int token_side = shape.patch_side * patches_per_token_side_;
    plan.planned = grid_size(segment, token_side);
    plan.n_patches += segment.n_tokens * patches_per_token_side_ * patches_per_token_side_;
  } else if (shape.patch_side > 0) {
    const int side_patches = shape.image_side / shape.patch_side;
    plan.planned = {shape.image_side, shape.image_side * plan.n_tiles};
    plan.n_patches += side_patches * side_patches;
  }
}

Result<std::vector<std::unique_ptr<PreparedTile>>> LlamaModel::prepare(const Image& image) const {
  TSR_RETURN_IF_ERROR(check_size(0, image.size));
  if (vision_ == nullptr) return internal("an image reached a model without vision");
  if (image.rgb.size() != static_cast<std::size_t>(image.size.pixels()) * 3) {
    return internal("an image's pixels do not match its size");
  }
  std::vector<BitmapHandle> bitmaps;
  bitmaps.emplace_back(mtmd_bitmap_init(static_cast<std::uint32_t>(image.size.width),
                                        static_cast<std::uint32_t>(image.size.height),
                                        image.rgb.data()));
  const std::vector<Run> runs{{Run::Kind::kMedia, {}, 0}};
  TSR_ASSIGN_OR_RETURN(SegmentsHandle native, run_mtmd(runs, bitmaps));
  const std::shared_ptr<const mtmd_input_chunks> owner(std::move(native));

  std::vector<std::unique_ptr<PreparedTile>> tiles;
  for (std::size_t i = 0; i < mtmd_input_chunks_size(owner.get()); ++i) {
    const mtmd_input_chunk* item = mtmd_input_chunks_get(owner.get(), i);
    if (mtmd_input_chunk_get_type(item) != MTMD_INPUT_CHUNK_TYPE_IMAGE) continue;
    auto tile = std::make_unique<LlamaTile>();
    tile->owner = owner;
    tile->native = item;
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

std::string LlamaModel::piece(TokenId token) const {
  std::string text(32, '\0');  // longer than nearly every token
  const auto render = [&] {
    return llama_token_to_piece(vocabulary(), token, text.data(),
                                static_cast<std::int32_t>(text.size()), 0, /*special=*/false);
  };
  int n = render();
  if (n < 0) {
    text.resize(static_cast<std::size_t>(-n));
    n = render();
  }
  text.resize(static_cast<std::size_t>(std::max(n, 0)));
  return text;
}

Result<std::unique_ptr<Sampler>> LlamaModel::make_sampler(const SamplerOptions& options) const {
  return LlamaSampler::make(*this, options);
}

}  // namespace tessera::runtime::llama
