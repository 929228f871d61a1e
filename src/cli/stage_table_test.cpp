#include "cli/stage_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "metrics/golden_file.h"

namespace tessera::cli {
namespace {

using std::chrono::microseconds;
using ::testing::HasSubstr;
using ::testing::Not;

Trace image_trace() {
  TimePoint now{};
  Trace trace(now);
  const auto spend = [&](Stage stage, microseconds spent) {
    trace.enter(stage, now);
    now += spent;
  };
  spend(Stage::kRead, microseconds(410));
  spend(Stage::kMediaWait, microseconds(35));
  spend(Stage::kMediaDecode, microseconds(12'300));
  spend(Stage::kPlan, microseconds(1'240));
  spend(Stage::kResize, microseconds(4'870));
  spend(Stage::kEncodeWait, microseconds(21));
  spend(Stage::kEncode, microseconds(201'460));
  spend(Stage::kPrefillVisual, microseconds(61'200));
  spend(Stage::kPrefillText, microseconds(19'900));
  trace.mark_first_token(now);
  spend(Stage::kDecode, microseconds(88'650));
  spend(Stage::kEmit, microseconds(130));
  trace.finish(now);
  trace.counts = {.n_images = 1,
                  .n_tiles = 1,
                  .n_visual_tokens = 256,
                  .n_text_tokens = 31,
                  .n_cached_tokens = 0,
                  .n_output_tokens = 18};
  return trace;
}

Trace text_trace() {
  const TimePoint start{};
  Trace trace(start);
  trace.enter(Stage::kPrefillText, start + microseconds(900));
  trace.mark_first_token(start + microseconds(21'000));
  trace.enter(Stage::kEmit, start + microseconds(21'000));
  trace.finish(start + microseconds(21'050));
  trace.counts.n_text_tokens = 40;
  trace.counts.n_cached_tokens = 1;
  trace.counts.n_output_tokens = 1;
  return trace;
}

std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

TEST(StageTable, OfAnImageIsAsCommitted) {
  test_support::expect_matches_file(stage_table(image_trace()),
                                    "src/cli/testdata/stage_table_image.txt");
}

TEST(StageTable, OfATextIsAsCommitted) {
  test_support::expect_matches_file(stage_table(text_trace()),
                                    "src/cli/testdata/stage_table_text.txt");
}

TEST(StageTable, FitsATerminal) {
  Trace slow(TimePoint{});
  slow.enter(Stage::kEncode, TimePoint{} + std::chrono::hours(2));
  slow.finish(TimePoint{} + std::chrono::hours(4));
  slow.counts = {16, 4096, 16'384, 32'768, 0, 16'384};

  for (const Trace& trace : {image_trace(), text_trace(), slow}) {
    std::istringstream lines(stage_table(trace));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(columns(line), 78U) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
    }
  }
}

TEST(StageTable, SaysThatTheProjectorIsInsideEncodeOnlyWhereSomethingWasEncoded) {
  EXPECT_THAT(stage_table(image_trace()), HasSubstr("* the library runs the projector inside"));
  EXPECT_THAT(stage_table(text_trace()), Not(HasSubstr("*")));
}

TEST(StageTable, RatesThatCannotBeKnownShowADash) {
  EXPECT_THAT(stage_table(text_trace()), HasSubstr("decode -, "));
}

TEST(StageTable, OfATraceWithoutTimeHasNoNumbers) {
  Trace trace(TimePoint{});
  trace.finish(TimePoint{});

  EXPECT_THAT(stage_table(trace), Not(HasSubstr("nan")));
  EXPECT_THAT(stage_table(trace), HasSubstr("0 images, 0 tiles"));
}

TEST(StageJson, HasEveryStageAndSumsToTheTotal) {
  const auto json = stage_json(image_trace());

  double sum = 0;
  for (const auto& [stage, seconds] : json["stages_seconds"].items()) sum += seconds.get<double>();
  EXPECT_EQ(json["stages_seconds"].size(), kStageCount);
  EXPECT_NEAR(sum, json["total_seconds"].get<double>(), 1e-9);
  EXPECT_EQ(json["n_visual_tokens"], 256);
  EXPECT_NEAR(json["ttft_seconds"].get<double>(), 0.301436, 1e-9);
}

TEST(StageJson, HasNoTimeToFirstTokenWithoutOne) {
  Trace trace(TimePoint{});
  trace.finish(TimePoint{});

  EXPECT_TRUE(stage_json(trace)["ttft_seconds"].is_null());
}

TEST(UsageJson, IsOpenAis) {
  EXPECT_EQ(usage_json(image_trace().counts).dump(),
            R"({"prompt_tokens":287,"completion_tokens":18,"total_tokens":305,)"
            R"("prompt_tokens_details":{"cached_tokens":0,"text_tokens":31,"image_tokens":256}})");
}

}  // namespace
}  // namespace tessera::cli
