// On a model of Idefics3's shape with random weights: what is written, planned, prepared and
// encoded when an image is shown by its overview alone.
#include "runtime/llama/overview_cut.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/llama/bundled_model.h"
#include "runtime/llama/llama_model.h"

namespace tessera::runtime::llama {
namespace {

// Inside a test the name is one of GoogleTest's.
using Runs = std::vector<Run>;
using Kind = Run::Kind;

TEST(OverviewCut, IsNotPossibleForOtherProjectors) {
  const OverviewCut other("qwen2vl_merger", bundled_model().vocabulary());
  EXPECT_FALSE(other.is_possible());
  EXPECT_FALSE(OverviewCut().is_possible());
  EXPECT_FALSE(bundled_model().info().has_overview);

  const Runs runs{{Kind::kPlain, "a", 0}, {Kind::kMedia, {}, 0}};
  const std::vector<ImageInput> images{{{8, 8}, true}};
  EXPECT_EQ(other.mark(runs, images).size(), 2U);
}

TEST(OverviewCut, MarksTheImagesThatAreShownWhole) {
  const OverviewCut cut("idefics3", bundled_model().vocabulary());
  ASSERT_TRUE(cut.is_possible());
  const Runs runs{{Kind::kMedia, {}, 0}, {Kind::kMedia, {}, 1}};
  const std::vector<ImageInput> images{{{8, 8}, false}, {{8, 8}, true}};

  const Runs marked = cut.mark(runs, images);

  ASSERT_EQ(marked.size(), 3U);
  EXPECT_EQ(marked[0].image_index, 0U);
  EXPECT_EQ(marked[1].kind, Kind::kSpecial);
  EXPECT_EQ(marked[1].text, "<fake_token_around_image><global-img>");
  EXPECT_EQ(marked[2].image_index, 1U);
}

TEST(OverviewCut, DropsNothingThatIsNoTilesStart) {
  const OverviewCut cut("idefics3", bundled_model().vocabulary());
  Prompt empty;
  EXPECT_FALSE(cut.drop_tile_start(empty));
  Prompt text;
  text.segments.emplace_back(TextSegment{std::vector<TokenId>(100, 1), 0});
  EXPECT_FALSE(cut.drop_tile_start(text));
  EXPECT_EQ(std::get<TextSegment>(text.segments[0]).tokens.size(), 100U);
}

}  // namespace
}  // namespace tessera::runtime::llama
