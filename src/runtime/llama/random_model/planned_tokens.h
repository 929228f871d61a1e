// For tests: what a model plans from an image's size is what it prepares and encodes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "runtime/llama/bundled_model.h"
#include "runtime/llama/random_model/random_model.h"

namespace tessera::runtime::llama::random_model {

/// Sizes of one run. Most are small, because what is tested is arithmetic, not speed.
inline constexpr int kSizes = 60;
/// Tiles that one run encodes at most, and the longest worth its time.
inline constexpr int kEncodedTiles = 6;
inline constexpr int kEncodedTokensMax = 400;
/// A side that every family must take, and an area that keeps the run short.
inline constexpr int kLongSide = 4096;
inline constexpr int kAreaMax = 600'000;
/// What the model refuses is longer than this.
inline constexpr int kLongestAspect = 200;

/// GoogleTest's names are made of letters, digits and underscores.
inline std::string test_name(const Shape& shape) {
  std::string name = shape.name;
  std::ranges::replace_if(name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

/// A shape's files, written for one test and gone after it.
class MadeModel {
 public:
  explicit MadeModel(const Shape& shape) : folder_(temporary_path(shape.name)) {
    EXPECT_TRUE(make_model(shape, folder_));
    const ModelFiles files = files_of(shape.name, folder_);
    LoadOptions options;
    options.model_path = files.model_path;
    options.mmproj_path = files.mmproj_path;
    options.n_threads = 1;
    options.n_sequences_max = 1;
    options.n_kv_cells = 512;
    options.context_length = 512;
    loaded_ = load_or_fail(options);
  }
  ~MadeModel() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  MadeModel(const MadeModel&) = delete;
  MadeModel& operator=(const MadeModel&) = delete;

  bool ok() const { return loaded_.encoder != nullptr; }
  const Model& model() const { return *loaded_.model; }
  Encoder& encoder() { return *loaded_.encoder; }
  std::uintmax_t bytes(std::string_view name) const {
    const ModelFiles files = files_of(name, folder_);
    return std::filesystem::file_size(files.model_path) +
           std::filesystem::file_size(files.mmproj_path);
  }

 private:
  std::string folder_;
  LoadedModel loaded_;
};

/// A prompt with one image of this size, between text.
inline Result<Prompt> plan_of(const Model& model, ImageSize size) {
  const auto parts = model.apply_chat_template(user_says("What is this?", 1));
  if (!parts) return parts.error();
  return model.tokenize(parts.value(), std::vector<ImageSize>{size});
}

inline Image grey_image(ImageSize size) {
  Image image;
  image.size = size;
  image.rgb.assign(static_cast<std::size_t>(size.pixels()) * 3, 128);
  return image;
}

/// Tokens of each tile, in order; every tile has a position for each of its tokens.
inline std::vector<int> planned_tiles(const Prompt& prompt) {
  std::vector<int> tokens;
  for (const Segment& segment : prompt.segments) {
    const auto* visual = std::get_if<VisualSegment>(&segment);
    if (visual == nullptr) continue;
    EXPECT_EQ(visual->positions.size(), static_cast<std::size_t>(visual->n_tokens));
    EXPECT_EQ(visual->tile_index, tokens.size());
    tokens.push_back(visual->n_tokens);
  }
  return tokens;
}

/// The extremes first: a point, the longest strips, a long square side, sides by one beside those
/// of patches; then any, as many of them tiny as large.
inline std::vector<ImageSize> sizes_to_plan() {
  std::vector<ImageSize> sizes{{1, 1},          {1, 200},       {200, 1},  {2, 3},   {20, 4000},
                               {4000, 20},      {27, 29},       {28, 28},  {56, 56}, {57, 56},
                               {64, 64},        {512, 512},     {513, 64}, {31, 32}, {4096, 9},
                               {kLongSide, 21}, {21, kLongSide}};
  // An area as large as any family shrinks, one way only: it takes longer than the others together.
  sizes.push_back({kLongSide, 1024});
  std::mt19937 random(20262);  // its numbers are the standard's, std's distributions are not
  const auto side = [&random](double most) {
    const double exponent = static_cast<double>(random()) / 4294967296.0 * std::log(most);
    return static_cast<int>(std::exp(exponent));
  };
  while (sizes.size() < static_cast<std::size_t>(kSizes)) {
    ImageSize size{side(kLongSide), side(kLongSide)};
    size.height = std::min(size.height, std::max(1, kAreaMax / size.width));
    size.width = std::min(size.width, size.height * kLongestAspect);
    size.height = std::min(size.height, size.width * kLongestAspect);
    sizes.push_back(size);
  }
  return sizes;
}

/// @param n_left  tiles that may still be encoded
inline void expect_encoded(MadeModel& made, const PreparedTile& tile, int& n_left) {
  if (n_left == 0 || tile.n_tokens() > kEncodedTokensMax) return;
  n_left -= 1;
  const auto embedding = made.encoder().encode(tile, {});
  ASSERT_TRUE(embedding) << embedding.error().message;
  const ModelInfo& info = made.model().info();
  EXPECT_EQ(embedding->n_tokens, tile.n_tokens());
  EXPECT_EQ(embedding->row_width, info.embedding_row_width);
  EXPECT_TRUE(std::ranges::all_of(embedding->rows, [](float x) { return std::isfinite(x); }));
}

inline void expect_plan_holds(MadeModel& made, ImageSize size, int& n_left) {
  SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height));
  const auto prompt = plan_of(made.model(), size);
  ASSERT_TRUE(prompt) << prompt.error().message;
  const std::vector<int> planned = planned_tiles(*prompt);
  const ImagePlan& plan = prompt->images.at(0);
  EXPECT_EQ(plan.n_tiles, static_cast<int>(planned.size()));

  const auto tiles = made.model().prepare(grey_image(plan.decoded));
  ASSERT_TRUE(tiles) << tiles.error().message;
  std::vector<int> prepared;
  for (const auto& tile : *tiles) prepared.push_back(tile->n_tokens());
  EXPECT_EQ(prepared, planned);
  // One tile and the overview, at whichever end it is.
  expect_encoded(made, *tiles->front(), n_left);
  if (tiles->size() > 1) expect_encoded(made, *tiles->back(), n_left);
}

inline void expect_plans_hold(const Shape& shape) {
  MadeModel made(shape);
  ASSERT_TRUE(made.ok());
  EXPECT_LT(made.bytes(shape.name), 4'000'000U);
  int n_left = kEncodedTiles;
  for (const ImageSize size : sizes_to_plan()) expect_plan_holds(made, size, n_left);
  EXPECT_EQ(n_left, 0);
}

}  // namespace tessera::runtime::llama::random_model
