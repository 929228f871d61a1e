#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "runtime/llama/llama_model.h"
#include "runtime/llama/random_model/planned_tokens.h"

namespace tessera::runtime::llama::random_model {
namespace {

class TiledShapes : public testing::TestWithParam<Shape> {};

TEST_P(TiledShapes, EncodeTheTokensThatTheyPlan) {
  PlanLimits limits;
  // Step3 makes a long strip a tile for each time that its length holds its width, and draws the
  // picture to plan it.
  if (GetParam().name == "tiny-step3") limits = {.n_sizes = 30, .longest_strip = 504};
  expect_plans_hold(GetParam(), limits);
}

INSTANTIATE_TEST_SUITE_P(All, TiledShapes, testing::ValuesIn(tiled_shapes()),
                         [](const auto& info) { return test_name(info.param); });

/// A model that makes many tiles of every image, and what it writes around them.
class OverviewTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(made_.ok());
    ASSERT_TRUE(made_.model().info().has_overview);
  }

  static const Shape& shape() {
    static const std::vector<Shape> kShapes = tiled_shapes();
    return *std::ranges::find(kShapes, "tiny-idefics3", &Shape::name);
  }

  Result<Prompt> prompt_of(const std::vector<ImageInput>& images) const {
    const auto parts = made_.model().apply_chat_template(user_says("Both?", images.size()));
    if (!parts) return parts.error();
    return made_.model().tokenize(*parts, images);
  }

  std::vector<TokenId> specials(const std::string& text) const {
    const auto& model = dynamic_cast<const LlamaModel&>(made_.model());
    std::vector<TokenId> tokens(16);
    const int n = llama_tokenize(model.vocabulary(), text.data(), static_cast<int>(text.size()),
                                 tokens.data(), 16, false, true);
    tokens.resize(static_cast<std::size_t>(std::max(n, 0)));
    return tokens;
  }

  static bool ends_with(const std::vector<TokenId>& tokens, const std::vector<TokenId>& end) {
    return tokens.size() >= end.size() && std::equal(end.rbegin(), end.rend(), tokens.rbegin());
  }

  MadeModel made_{shape()};
};

TEST_F(OverviewTest, IsWrittenAsAnUndividedImageWas) {
  const auto prompt = prompt_of({{{64, 64}, true}});

  ASSERT_TRUE(prompt) << prompt.error().message;
  ASSERT_EQ(prompt->segments.size(), 3U);
  const auto& before = std::get<TextSegment>(prompt->segments[0]).tokens;
  const auto& after = std::get<TextSegment>(prompt->segments[2]).tokens;
  EXPECT_TRUE(ends_with(before, specials("<fake_token_around_image><global-img>")));
  EXPECT_EQ(after.front(), specials("<fake_token_around_image>").front());
  const TokenId row = specials("<row_1_col_1>").front();
  EXPECT_EQ(std::ranges::find(before, row), before.end());
  EXPECT_EQ(std::ranges::find(after, row), after.end());
  EXPECT_EQ(prompt->n_text_tokens, static_cast<int>(before.size() + after.size()));
  EXPECT_EQ(prompt->n_positions, prompt->n_tokens());
}

TEST_F(OverviewTest, StandsBesideImagesWithAllTheirTiles) {
  const auto all = prompt_of({{{64, 64}, false}});
  const auto mixed = prompt_of({{{64, 64}, true}, {{64, 64}, false}, {{30, 60}, true}});

  ASSERT_TRUE(all && mixed);
  const int n_tiles = all->images[0].n_tiles;
  EXPECT_GT(n_tiles, 2);
  EXPECT_EQ(mixed->images[0].n_tiles, 1);
  EXPECT_EQ(mixed->images[0].first_tile, n_tiles - 1);
  EXPECT_EQ(mixed->images[1].n_tiles, n_tiles);
  EXPECT_EQ(mixed->images[1].first_tile, 0);
  EXPECT_EQ(mixed->images[2].n_tiles, 1);
  Position next = 0;
  for (const Segment& segment : mixed->segments) {
    const auto* text = std::get_if<TextSegment>(&segment);
    const Position first = text != nullptr ? text->first_position
                                           : std::get<VisualSegment>(segment).positions.front()[0];
    EXPECT_EQ(first, next);
    next += segment_tokens(segment);
  }
  EXPECT_EQ(mixed->n_positions, next);
}

TEST_F(OverviewTest, IsTheLastOfThePreparedTiles) {
  const auto prompt = prompt_of({{{64, 64}, true}});
  const auto tiles = made_.model().prepare(grey_image({64, 64}));

  ASSERT_TRUE(prompt && tiles);
  const ImagePlan& plan = prompt->images[0];
  ASSERT_EQ(static_cast<std::size_t>(plan.first_tile + plan.n_tiles), tiles->size());
  const auto rows = made_.encoder().encode(*tiles->back(), {});
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->n_tokens, plan.n_visual_tokens);
}

}  // namespace
}  // namespace tessera::runtime::llama::random_model
