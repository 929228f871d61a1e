#include "core/plan_report.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(PlanText, SaysWhatBecomesOfAnImageAndWhy) {
  ImagePlan image;
  image.source = {1536, 1536};
  image.planned = {616, 616};
  image.n_tiles = 1;
  image.n_visual_tokens = 484;
  EXPECT_EQ(plan_text(image), "1536×1536 → 616×616, 484 tokens");
  image.budget = 512;
  EXPECT_EQ(plan_text(image), "1536×1536 → 616×616, 484 tokens, budget 512");
  image.n_tiles = 17;
  image.n_cached_tiles = 16;
  EXPECT_EQ(plan_text(image), "1536×1536 → 616×616, 17 tiles, 484 tokens, budget 512");
  image.n_cached_tiles = 17;
  EXPECT_EQ(plan_text(image), "1536×1536 → 616×616, 17 tiles, 484 tokens, budget 512, cached");
}

}  // namespace
}  // namespace tessera
