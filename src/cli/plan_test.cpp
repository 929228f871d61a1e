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

pipeline::PlanReport two_images() {
  return {.images = {{{4032, 3024}, {1036, 784}, 1, 1036, 4144},
                     {{640, 480}, {644, 476}, 1, 391, 1564}},
          .n_text_tokens = 24,
          .n_visual_tokens = 1427,
          .encode_flops = 1.234e12,
          .prefill_flops = 5.6e11,
          .kv_bytes = 12.4 * 1024 * 1024};
}

TEST(PlanTable, OfTwoImagesIsAsCommitted) {
  test_support::expect_matches_file(plan_table(two_images()), "src/cli/testdata/plan_table.txt");
}

TEST(PlanTable, OfOneImageHasNoTotal) {
  pipeline::PlanReport report = two_images();
  report.images.resize(1);

  EXPECT_THAT(plan_table(report), Not(HasSubstr("total")));
}

TEST(PlanTable, ColumnsOfTheLargestImagesStayAligned) {
  pipeline::PlanReport report = two_images();
  report.images.push_back({{16'384, 16'384}, {16'384, 16'384}, 4096, 16'384, 999'999});

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
  const pipeline::PlanReport report{.images = {{{8, 8}, {8, 8}, 1, 4, 0}}, .n_visual_tokens = 4};

  const std::string text = plan_table(report);

  EXPECT_THAT(text, HasSubstr("prefill    -"));
  EXPECT_THAT(text, HasSubstr("KV memory  -"));
}

TEST(Plan, AsksForTheImagesInOrder) {
  test_support::FakeService service;
  service.report = two_images();
  std::ostringstream out;
  std::ostringstream err;

  const ExitCode code = run_plan({}, std::vector<EncodedMedia>(2), service, {out, err});

  EXPECT_EQ(code, ExitCode::kOk);
  EXPECT_EQ(out.str(), plan_table(two_images()));
  ASSERT_EQ(service.submitted->messages.size(), 1U);
  EXPECT_EQ(std::get<ImagePart>(service.submitted->messages[0].parts.at(1)).media_index, 1U);
}

TEST(Plan, JsonHasEachImageAndTheEstimates) {
  test_support::FakeService service;
  service.report = two_images();
  std::ostringstream out;
  std::ostringstream err;
  PlanOptions options;
  options.json = true;

  run_plan(options, std::vector<EncodedMedia>(2), service, {out, err});

  const auto json = nlohmann::json::parse(out.str());
  EXPECT_EQ(json["images"].size(), 2U);
  EXPECT_EQ(json["images"][0]["source"]["width"], 4032);
  EXPECT_EQ(json["images"][1]["n_patches"], 1564);
  EXPECT_DOUBLE_EQ(json["encode_flops"].get<double>(), 1.234e12);
}

TEST(Plan, ARefusedImageExitsWithItsCode) {
  test_support::FakeService service;
  service.refusal = make_error(ErrorCode::kUnsupportedMedia, "unsupported_image", "image 1: PDF");
  std::ostringstream out;
  std::ostringstream err;

  const ExitCode code = run_plan({}, std::vector<EncodedMedia>(1), service, {out, err});

  EXPECT_EQ(code, ExitCode::kRefused);
  EXPECT_EQ(err.str(), "tessera: image 1: PDF\n");
}

}  // namespace
}  // namespace tessera::cli
