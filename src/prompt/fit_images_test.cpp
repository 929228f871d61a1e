#include "prompt/fit_images.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "runtime/fake/fake_runtime.h"
#include "runtime/plan_image.h"

namespace tessera::prompt {
namespace {

// A visual token of the fake is 28×28 pixels.
using runtime::fake::kCellSide;

constexpr int kMany = 1'000'000;

std::shared_ptr<const runtime::Model> model(int tile_side = 0, bool has_overview = false) {
  runtime::fake::FakeOptions options;
  options.tile_side = tile_side;
  options.has_overview = has_overview;
  return runtime::fake::load(options).value().model;
}

int n_tokens(const runtime::Model& model, const FittedImage& image) {
  return runtime::plan_image(model, image.input)->n_visual_tokens;
}

ImageWish wish(ImageSize source, int n_tokens_max = kMany,
               ImageDetail detail = ImageDetail::kAuto) {
  return {source, detail, n_tokens_max};
}

FittedImage fit_one(const runtime::Model& model, const ImageWish& wish) {
  return fit_images(model, {&wish, 1}, kMany).value().front();
}

TEST(FitImages, LeavesAnImageThatFitsAsItIs) {
  const FittedImage image = fit_one(*model(), wish({280, 56}, 20));
  EXPECT_EQ(image.input.size, (ImageSize{280, 56}));
  EXPECT_EQ(image.budget, 0);
}

TEST(FitImages, GivesTheLargestSizeInsideTheBudgetInItsAspect) {
  std::mt19937 random(7);
  const auto tiny = model();
  for (int i = 0; i < 300; ++i) {
    const auto side = [&] { return std::uniform_int_distribution(1, 3000)(random); };
    ImageSize source{side(), side()};
    if (std::max(source.width, source.height) > 100 * std::min(source.width, source.height)) {
      continue;  // longer than this model takes
    }
    const int budget = std::uniform_int_distribution(1, 400)(random);
    const ImageWish one = wish(source, budget);
    const auto fitted = fit_images(*tiny, {&one, 1}, kMany);
    if (!fitted) continue;  // a strip whose smallest size costs more
    const ImageInput& input = fitted->front().input;

    EXPECT_LE(n_tokens(*tiny, fitted->front()), budget);
    EXPECT_LE(input.size.width, source.width);
    EXPECT_LE(input.size.height, source.height);
    // In its aspect, to the rounding of a pixel.
    const double scale = static_cast<double>(std::max(input.size.width, input.size.height)) /
                         std::max(source.width, source.height);
    EXPECT_NEAR(input.size.width, std::max(scale * source.width, 1.0), 1);
    EXPECT_NEAR(input.size.height, std::max(scale * source.height, 1.0), 1);
    // A pixel of rounding may not make a strip longer: models refuse those that are too long.
    EXPECT_LE(std::int64_t{std::max(input.size.width, input.size.height)} *
                  std::min(source.width, source.height),
              std::int64_t{std::min(input.size.width, input.size.height)} *
                  std::max(source.width, source.height));
    if (fitted->front().budget == 0) continue;
    // One pixel more on the longer side would be too much.
    const int longer = std::max(source.width, source.height);
    const int more = std::max(input.size.width, input.size.height) + 1;
    const auto scaled = [&](int length) { return (length * more + longer - 1) / longer; };
    const ImageSize larger{scaled(source.width), scaled(source.height)};
    EXPECT_GT(runtime::plan_image(*tiny, {larger, false})->n_visual_tokens, budget)
        << source.width << "x" << source.height << " in " << budget;
  }
}

TEST(FitImages, AStripAtTheModelsLimitShrinksWithinIt) {
  const auto tiny = model();
  for (int budget = 1; budget < 600; budget += 7) {
    const auto fitted = fit_images(*tiny, std::vector{wish({16'000, 80}, budget)}, kMany);
    EXPECT_TRUE(fitted) << budget << ": " << fitted.error().message;
  }
}

TEST(FitImages, LowDetailIsAtMostItsTokensOrTheModelsLeast) {
  const auto tiny = model();
  const FittedImage low = fit_one(*tiny, wish({2800, 2800}, kMany, ImageDetail::kLow));
  EXPECT_EQ(n_tokens(*tiny, low), kLowDetailTokens);
  EXPECT_EQ(low.input.size, (ImageSize{448, 448}));
  const FittedImage small = fit_one(*tiny, wish({28, 28}, kMany, ImageDetail::kLow));
  EXPECT_EQ(small.input.size, (ImageSize{28, 28}));
}

TEST(FitImages, TheLargestShrinkFirstWhenAllTogetherAreTooMany) {
  const auto tiny = model();
  const std::vector<ImageWish> wishes{wish({280, 280}), wish({56, 56}), wish({560, 560})};

  const auto fitted = fit_images(*tiny, wishes, 4 + 2 * 49 + 1);

  ASSERT_TRUE(fitted);
  EXPECT_EQ(n_tokens(*tiny, (*fitted)[0]), 49);
  EXPECT_EQ(n_tokens(*tiny, (*fitted)[1]), 4);
  EXPECT_EQ(n_tokens(*tiny, (*fitted)[2]), 49);
  EXPECT_EQ((*fitted)[1].budget, 0);
}

TEST(FitImages, WhatDoesNotFitAtItsSmallestIsRefusedWithTheNumbers) {
  const auto one = fit_images(*model(), std::vector{wish({280, 280}, 0)}, kMany);
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(one.error().reason, "visual_tokens_exceeded");
  EXPECT_EQ(one.error().message, "image 1 needs 1 visual tokens at least; the limit is 0");

  const auto all = fit_images(*model(), std::vector(3, wish({280, 280})), 2);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().message,
            "image 1 needs 1 visual tokens at least; of 2 for all images, 0 are left for this one");
}

TEST(FitImages, AnImageThatIsNotLargerThanATileIsNotCutIntoMany) {
  const auto tiling = model(56, true);
  const auto of = [&](ImageSize size, ImageDetail detail) {
    return fit_one(*tiling, wish(size, kMany, detail)).input.overview_only;
  };
  EXPECT_TRUE(of({56, 40}, ImageDetail::kAuto));
  EXPECT_FALSE(of({57, 40}, ImageDetail::kAuto));
  EXPECT_TRUE(of({570, 400}, ImageDetail::kLow));
  EXPECT_FALSE(of({56, 40}, ImageDetail::kHigh));
}

TEST(FitImages, WhereTilesDoNotGetFewerTheOverviewAloneIsTheSmallest) {
  const auto tiling = model(56, true);
  const ImageSize size{560, 560};
  const int n_all = runtime::plan_image(*tiling, {size, false})->n_visual_tokens;

  EXPECT_FALSE(fit_one(*tiling, wish(size, n_all)).input.overview_only);
  const FittedImage less = fit_one(*tiling, wish(size, n_all - 1));
  EXPECT_TRUE(less.input.overview_only);
  EXPECT_EQ(less.input.size, size);
  EXPECT_EQ(less.budget, n_all - 1);
}

TEST(FitImages, WhatTheModelRefusesIsTheModelsError) {
  const auto refused = fit_images(*model(), std::vector{wish({28'000, 1})}, kMany);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "image_size_unsupported");
}

}  // namespace
}  // namespace tessera::prompt
