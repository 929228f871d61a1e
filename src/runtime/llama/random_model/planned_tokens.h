// For tests: what a model plans from an image's size is what it prepares and encodes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/llama/random_model/made_model.h"

namespace tessera::runtime::llama::random_model {

/// Sizes of one run. Most are small, because what is tested is arithmetic, not speed.
inline constexpr std::size_t kSizes = 60;
/// The largest number of tokens whose encode is worth its time.
inline constexpr int kEncodedTokensMax = 400;
/// A side that every family must take, and an area that keeps the run short.
inline constexpr int kLongSide = 4096;
inline constexpr int kAreaMax = 600'000;
/// What the model refuses is longer, in sides or in one side against the other.
inline constexpr int kSideMax = 32'767;
inline constexpr int kAspectMax = 200;

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

/// The extremes first: a point, the longest strips, sides by one beside those of patches; then any,
/// as many of them tiny as large.
inline std::vector<ImageSize> sizes_to_prepare(std::size_t n) {
  std::vector<ImageSize> sizes{{1, 1},     {1, 200},        {200, 1},        {2, 3},    {20, 4000},
                               {4000, 20}, {27, 29},        {28, 28},        {56, 56},  {57, 56},
                               {64, 64},   {512, 512},      {513, 64},       {31, 32},  {1800, 9},
                               {31, 500},  {kLongSide, 21}, {21, kLongSide}, {504, 505}};
  // As large as any family shrinks, once: it takes longer than many others together.
  sizes.push_back({kLongSide, 1024});
  std::mt19937 random(20262);  // its numbers are the standard's; its distributions' are not
  const auto side = [&random] {
    const double exponent = static_cast<double>(random()) / 4294967296.0 * std::log(kLongSide);
    return static_cast<int>(std::exp(exponent));
  };
  while (sizes.size() < n) {
    ImageSize size{side(), side()};
    size.height = std::min(size.height, std::max(1, kAreaMax / size.width));
    size.width = std::min(size.width, size.height * kAspectMax);
    size.height = std::min(size.height, size.width * kAspectMax);
    sizes.push_back(size);
  }
  return sizes;
}

/// Nobody holds such pixels, but anybody can claim them.
inline std::vector<ImageSize> sizes_to_plan_only() {
  return {{kSideMax, kSideMax}, {kSideMax, 164}, {164, kSideMax}, {kSideMax, 1}, {1, kSideMax}};
}

struct PlanLimits {
  std::size_t n_sizes = kSizes;
  /// Different numbers of tokens that are encoded.
  std::size_t n_encodes_max = 8;
  /// Pixels that a side longer than kStripAspect times the other may have.
  int longest_strip = kSideMax;
};

/// Runs one shape over all sizes.
class PlanCheck {
 public:
  PlanCheck(const Shape& shape, PlanLimits limits) : made_(shape), limits_(limits) {}

  void run(const Shape& shape) {
    ASSERT_TRUE(made_.ok());
    EXPECT_LT(made_.bytes(shape.name), 4'000'000U);
    for (const ImageSize size : sizes_to_prepare(limits_.n_sizes)) {
      if (!is_left_out(size)) expect_plan_holds(size);
    }
    for (const ImageSize size : sizes_to_plan_only()) {
      if (!is_left_out(size)) expect_planned_or_refused(size);
    }
    EXPECT_FALSE(encoded_.empty());
  }

 private:
  static constexpr int kStripAspect = 12;

  bool is_left_out(ImageSize size) const {
    const auto [shorter, longer] = std::minmax(size.width, size.height);
    return longer > limits_.longest_strip && longer > shorter * kStripAspect;
  }

  void expect_plan_holds(ImageSize size) {
    SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height));
    const auto prompt = plan_of(made_.model(), size);
    ASSERT_TRUE(prompt) << prompt.error().message;
    const std::vector<int> planned = planned_tiles(*prompt);
    const ImagePlan& plan = prompt->images.at(0);
    EXPECT_EQ(plan.n_tiles, static_cast<int>(planned.size()));

    const auto tiles = made_.model().prepare(grey_image(plan.decoded));
    ASSERT_TRUE(tiles) << tiles.error().message;
    std::vector<int> prepared;
    for (const auto& tile : *tiles) prepared.push_back(tile->n_tokens());
    EXPECT_EQ(prepared, planned);
    for (const auto& tile : *tiles) expect_encoded(*tile);
  }

  /// One tile of each number of tokens: an overview, a tile, strips.
  void expect_encoded(const PreparedTile& tile) {
    if (encoded_.size() == limits_.n_encodes_max || tile.n_tokens() > kEncodedTokensMax) return;
    if (!encoded_.insert(tile.n_tokens()).second) return;
    const auto embedding = made_.encoder().encode(tile, {});
    ASSERT_TRUE(embedding) << embedding.error().message;
    EXPECT_EQ(embedding->n_tokens, tile.n_tokens());
    EXPECT_EQ(embedding->row_width, made_.model().info().embedding_row_width);
    EXPECT_TRUE(std::ranges::all_of(embedding->rows, [](float x) { return std::isfinite(x); }));
  }

  void expect_planned_or_refused(ImageSize size) {
    SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height));
    const auto prompt = plan_of(made_.model(), size);
    if (prompt) {
      EXPECT_GT(prompt->n_visual_tokens, 0);
    } else {
      EXPECT_EQ(prompt.error().code, ErrorCode::kTooLarge) << prompt.error().message;
    }
  }

  MadeModel made_;
  PlanLimits limits_;
  std::set<int> encoded_;
};

inline void expect_plans_hold(const Shape& shape, PlanLimits limits = {}) {
  PlanCheck(shape, limits).run(shape);
}

}  // namespace tessera::runtime::llama::random_model
