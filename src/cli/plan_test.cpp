#include "cli/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/fake_service.h"
#include "metrics/golden_file.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ImagePlan image(ImageSize source, ImageSize planned, int n_tiles, int n_visual_tokens,
                int n_patches) {
  ImagePlan plan;
  plan.source = source;
  plan.planned = planned;
  plan.n_tiles = n_tiles;
  plan.n_visual_tokens = n_visual_tokens;
  plan.n_patches = n_patches;
  return plan;
}

/// A service whose plan is `report`.
struct Planned {
  explicit Planned(PlanReport report) {
    service.events.emplace_back(StreamEnd{std::nullopt, Trace(TimePoint{}), std::move(report)});
  }
  ExitCode run(const PlanOptions& options, std::size_t n_images) {
    return run_plan(options, std::vector<EncodedMedia>(n_images), service, {out, err}, clock, {});
  }

  test_support::FakeService service;
  ManualClock clock;
  std::ostringstream out;
  std::ostringstream err;
};

PlanReport two_images() {
  PlanReport report;
  report.images = {image({4032, 3024}, {1036, 784}, 1, 1036, 4144),
                   image({640, 480}, {644, 476}, 1, 391, 1564)};
  report.n_text_tokens = 24;
  report.n_visual_tokens = 1427;
  report.encode_flops = 1.234e12;
  report.prefill_flops = 5.6e11;
  report.kv_bytes = 12.4 * 1024 * 1024;
  return report;
}

TEST(PlanTable, OfTwoImagesIsAsCommitted) {
  test_support::expect_matches_file(plan_table(two_images()), "src/cli/testdata/plan_table.txt");
}

TEST(PlanTable, OfOneImageHasNoTotal) {
  PlanReport report = two_images();
  report.images.resize(1);

  EXPECT_THAT(plan_table(report), Not(HasSubstr("total")));
}

TEST(PlanTable, SaysWhichImagesWereMadeSmaller) {
  PlanReport report = two_images();
  EXPECT_THAT(plan_table(report), Not(HasSubstr("smaller")));
  report.images[1].budget = 400;

  EXPECT_THAT(plan_table(report),
              HasSubstr("  image 2 was made smaller to fit 400 visual tokens\n"));
}

TEST(PlanTable, ColumnsOfTheLargestImagesStayAligned) {
  PlanReport report = two_images();
  report.images.push_back(image({16'384, 16'384}, {16'384, 16'384}, 4096, 16'384, 999'999));

  std::istringstream lines(plan_table(report));
  std::string line;
  std::getline(lines, line);
  const std::size_t width = line.size();
  std::getline(lines, line);
  for (int i = 0; i < 3; ++i) {
    std::getline(lines, line);
    const auto columns = std::ranges::count_if(
        line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
    EXPECT_EQ(static_cast<std::size_t>(columns), width) << line;
  }
}

TEST(PlanTable, WhatTheModelDoesNotSayIsADash) {
  PlanReport report;
  report.images = {image({8, 8}, {8, 8}, 1, 4, 0)};
  report.n_visual_tokens = 4;

  const std::string text = plan_table(report);

  EXPECT_THAT(text, HasSubstr("prefill    -"));
  EXPECT_THAT(text, HasSubstr("KV memory  -"));
}

TEST(Plan, AsksForTheImagesInOrderAndForTheirPlanAlone) {
  Planned planned(two_images());
  PlanOptions options;
  options.images.detail = ImageDetail::kLow;
  options.images.visual_tokens_max = 300;

  const ExitCode code = planned.run(options, 2);

  EXPECT_EQ(code, ExitCode::kOk);
  EXPECT_EQ(planned.out.str(), plan_table(two_images()));
  const Request& request = *planned.service.submitted;
  ASSERT_EQ(request.messages.size(), 1U);
  const auto& second = std::get<ImagePart>(request.messages[0].parts.at(1));
  EXPECT_EQ(second.media_index, 1U);
  EXPECT_EQ(second.detail, ImageDetail::kLow);
  EXPECT_EQ(request.visual_tokens_max, 300);
  EXPECT_TRUE(request.plan_only);
}

TEST(Plan, JsonHasEachImageAndTheEstimates) {
  Planned planned(two_images());
  PlanOptions options;
  options.json = true;

  planned.run(options, 2);

  const auto json = nlohmann::json::parse(planned.out.str());
  EXPECT_EQ(json["images"].size(), 2U);
  EXPECT_EQ(json["images"][0]["source"]["width"], 4032);
  EXPECT_EQ(json["images"][0]["summary"], "4032×3024 → 1036×784, 1036 tokens");
  EXPECT_EQ(json["images"][1]["n_patches"], 1564);
  EXPECT_DOUBLE_EQ(json["encode_flops"].get<double>(), 1.234e12);
}

TEST(Plan, ARefusedImageExitsWithItsCode) {
  Planned planned(two_images());
  planned.service.refusal =
      make_error(ErrorCode::kUnsupportedMedia, "unsupported_image", "image 1: PDF");

  EXPECT_EQ(planned.run({}, 1), ExitCode::kRefused);
  EXPECT_EQ(planned.err.str(), "tessera: image 1: PDF\n");
}

TEST(Plan, SaysWhenItWasInterrupted) {
  Planned planned(two_images());
  planned.service.events.clear();
  std::stop_source stop;
  stop.request_stop();

  const ExitCode code = run_plan({}, std::vector<EncodedMedia>(1), planned.service,
                                 {planned.out, planned.err}, planned.clock, stop.get_token());

  EXPECT_EQ(code, ExitCode::kInterrupted);
}

}  // namespace
}  // namespace tessera::cli
