#include "metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "metrics/golden_file.h"

namespace tessera::metrics {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

const BuildInfo kBuild{"0.1.0", "fake"};

Trace image_trace() {
  const TimePoint start{};
  Trace trace(start);
  trace.enter(Stage::kMediaDecode, start + milliseconds(2));
  trace.enter(Stage::kEncode, start + milliseconds(10));
  trace.enter(Stage::kPrefillVisual, start + milliseconds(40));
  trace.enter(Stage::kDecode, start + milliseconds(60));
  trace.mark_first_token(start + milliseconds(61));
  trace.enter(Stage::kEmit, start + milliseconds(99));
  trace.finish(start + milliseconds(100));
  trace.counts = {.n_images = 1,
                  .n_tiles = 5,
                  .n_visual_tokens = 320,
                  .n_text_tokens = 24,
                  .n_cached_tokens = 8,
                  .n_output_tokens = 12};
  return trace;
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Metrics, ExpositionIsAsCommitted) {
  Metrics metrics(kBuild);
  metrics.record_request(image_trace(), std::nullopt);
  metrics.record_request(Trace(TimePoint{}), make_error(ErrorCode::kTooLarge, "too_many_images",
                                                        "17 images exceed 16"));
  metrics.record_media_decode(std::nullopt);
  metrics.record_media_decode(make_error(ErrorCode::kInvalidArgument, "image_truncated", ""));
  metrics.record_decoder_death("image", "signal");
  metrics.set_suspended_tenants(2);
  metrics.set_sandbox_level("A");
  metrics.record_media_fetch("fetched");
  metrics.set_upload_bytes(4096);
  metrics.record_shared_tiles(2);
  metrics.set_feature_cache(FeatureTier::kMemory, {3, 4, 0, 0, 0, milliseconds(500), 10, 1});
  metrics.set_feature_cache(FeatureTier::kMemory, {9, 4, 2, 1, 1, milliseconds(1500), 2048, 3, 0, 0,
                                                   0, milliseconds(2500), milliseconds(4500)});
  metrics.set_feature_cache(FeatureTier::kDisk,
                            {5, 2, 1, 3, 6, milliseconds(700), 4096, 7, 8, 10, 1});
  metrics.record_encode(1024, milliseconds(30));
  metrics.record_step(3, 0, microseconds(900));
  metrics.record_step(1, 320, milliseconds(20));
  metrics.record_call_cost_error(1, 0.04);
  metrics.record_call_cost_error(9, 0.3);
  metrics.record_call_cost_error(320, 7);
  metrics.set_queue_depth(Queue::kEncode, 2);
  metrics.set_no_progress(milliseconds(250), milliseconds(20));
  metrics.set_vision_bytes(5000);
  metrics.set_requests_in_flight(4);
  metrics.set_running_sequences(3);
  metrics.set_set_aside_requests(1);
  metrics.record_preemption(/*copied=*/true);
  metrics.record_preemption(/*copied=*/true);
  metrics.record_preemption(/*copied=*/false);
  metrics.set_kv_cells(356, 1024, 8192);
  metrics.record_content_log_loss();

  test_support::expect_matches_file(metrics.expose(), "src/metrics/testdata/exposition.txt");
}

TEST(Metrics, StageTimesSumToTheRequestTime) {
  Metrics metrics(kBuild);

  metrics.record_request(image_trace(), std::nullopt);

  double stages = 0;
  double request = -1;
  std::istringstream lines(metrics.expose());
  for (std::string line; std::getline(lines, line);) {
    const double value = std::strtod(line.substr(line.rfind(' ') + 1).c_str(), nullptr);
    if (line.starts_with("tessera_stage_seconds_sum")) stages += value;
    if (line.starts_with("tessera_request_seconds_sum")) request = value;
  }
  EXPECT_DOUBLE_EQ(request, 0.1);
  EXPECT_DOUBLE_EQ(stages, request);
}

TEST(Metrics, StagesNotEnteredAreNotCounted) {
  Metrics metrics(kBuild);

  metrics.record_request(image_trace(), std::nullopt);

  const std::string text = metrics.expose();
  EXPECT_THAT(text, HasSubstr("tessera_stage_seconds_count{stage=\"encode\"} 1"));
  EXPECT_THAT(text, HasSubstr("tessera_stage_seconds_count{stage=\"prefill_text\"} 0"));
}

TEST(Metrics, ReasonIsALabelOfTheOutcome) {
  Metrics metrics(kBuild);

  metrics.record_request(image_trace(), make_error(ErrorCode::kCancelled, "cancelled", ""));

  EXPECT_THAT(metrics.expose(),
              HasSubstr("tessera_requests_total{outcome=\"cancelled\",reason=\"cancelled\"} 1"));
}

TEST(Metrics, ReasonsBeyondTheCapShareOneSeries) {
  Metrics metrics(kBuild);

  for (std::size_t i = 0; i < kReasonsMax + 10; ++i) {
    metrics.record_request(image_trace(),
                           make_error(ErrorCode::kInternal, "reason_" + std::to_string(i), ""));
  }

  const std::string text = metrics.expose();
  EXPECT_EQ(count_of(text, "tessera_requests_total{outcome=\"internal\""), kReasonsMax + 1);
  EXPECT_THAT(text, HasSubstr("reason=\"other\"} 10"));
}

TEST(Metrics, TextThatIsNoReasonNeverBecomesALabel) {
  Metrics metrics(kBuild);

  metrics.record_request(image_trace(), make_error(ErrorCode::kInternal, "what a cat\n", ""));

  const std::string text = metrics.expose();
  EXPECT_THAT(text, Not(HasSubstr("cat")));
  EXPECT_THAT(text, HasSubstr("reason=\"other\"} 1"));
}

TEST(Metrics, ARequestWithoutTokensHasNoTimeToFirstToken) {
  Metrics metrics(kBuild);

  metrics.record_request(Trace(TimePoint{}), make_error(ErrorCode::kTooLarge, "too_large", ""));

  EXPECT_THAT(metrics.expose(), HasSubstr("tessera_time_to_first_token_seconds_count 0"));
}

TEST(Metrics, MayBeMovedAndReadFromManyThreads) {
  Metrics metrics(kBuild);
  const Trace trace = image_trace();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&metrics, &trace, i] {
        for (int n = 0; n < 50; ++n) {
          metrics.record_request(trace,
                                 make_error(ErrorCode::kInternal, "r" + std::to_string(i), ""));
          metrics.set_kv_cells(n, 0, 100);
          if (n % 10 == 0) static_cast<void>(metrics.expose());
        }
      });
    }
  }

  EXPECT_THAT(metrics.expose(), HasSubstr("tessera_request_seconds_count 200"));
}

}  // namespace
}  // namespace tessera::metrics
