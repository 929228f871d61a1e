#include "encode/encode_stage.h"

#include <gtest/gtest.h>

#include <future>

#include "core/token_stream.h"
#include "runtime/fake/fake_runtime.h"

namespace tessera::encode {
namespace {

using runtime::fake::Call;
using runtime::fake::Effect;
using runtime::fake::FakeControl;

class EncodeStageTest : public ::testing::Test {
 protected:
  EncodeStageTest() {
    runtime::fake::FakeOptions options;
    options.control = control_;
    loaded_ = runtime::fake::load(options).value();
    stage_ = std::make_unique<EncodeStage>(
        std::move(loaded_.encoder), kCapacity, clock_, nullptr,
        [this](std::unique_ptr<InFlight> request) { done_.set_value(std::move(request)); });
  }

  std::unique_ptr<InFlight> request(int n_images) {
    auto in_flight = std::make_unique<InFlight>(
        RequestId{1}, TenantId{0}, Request{}, Limits{}, Trace(clock_.now()),
        clock_.now() + std::chrono::hours(1), stop_.get_token(), stream_);
    Image image{{28, 28}, std::vector<std::uint8_t>(28 * 28 * 3, 7)};
    std::vector<runtime::PromptPart> parts;
    for (int i = 0; i < n_images; ++i) {
      parts.emplace_back(runtime::MediaPlace{static_cast<std::size_t>(i)});
      auto tiles = loaded_.model->prepare(image).value();
      for (auto& tile : tiles) in_flight->tiles.push_back(std::move(tile));
    }
    const std::vector<ImageSize> sizes(static_cast<std::size_t>(n_images), image.size);
    in_flight->prompt = loaded_.model->tokenize(parts, sizes).value();
    return in_flight;
  }

  std::optional<Error> terminal_error() {
    const auto event = stream_->pop({});
    return std::get<StreamEnd>(*event).error;
  }

  static constexpr std::size_t kCapacity = 4;
  const std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
  SteadyClock clock_;
  std::stop_source stop_;
  std::shared_ptr<TokenStream> stream_ = std::make_shared<TokenStream>(stop_);
  runtime::LoadedModel loaded_;
  std::promise<std::unique_ptr<InFlight>> done_;
  std::unique_ptr<EncodeStage> stage_;
};

TEST_F(EncodeStageTest, HandsOnOneEmbeddingForEachVisualSegment) {
  ASSERT_TRUE(stage_->try_submit(request(2)));

  const auto encoded = done_.get_future().get();

  ASSERT_EQ(encoded->embeddings.size(), 2U);
  EXPECT_EQ(encoded->embeddings[0]->n_tokens, 1);
  EXPECT_TRUE(encoded->tiles.empty());
  encoded->end(std::nullopt, clock_.now());
}

TEST_F(EncodeStageTest, FailedEncodeEndsTheRequest) {
  control_->fail(Call::kEncode, 2, Effect::kError);

  ASSERT_TRUE(stage_->try_submit(request(2)));

  EXPECT_EQ(terminal_error()->code, ErrorCode::kInternal);
}

TEST_F(EncodeStageTest, CancellationStopsTheEncodeThatRuns) {
  control_->fail(Call::kEncode, 1, Effect::kSlow);
  ASSERT_TRUE(stage_->try_submit(request(1)));
  control_->wait_until_held();

  stop_.request_stop();

  EXPECT_EQ(terminal_error()->code, ErrorCode::kCancelled);
}

TEST_F(EncodeStageTest, ShutdownEndsWhatRunsAndWhatWaits) {
  control_->fail(Call::kEncode, 1, Effect::kSlow);
  ASSERT_TRUE(stage_->try_submit(request(1)));
  ASSERT_TRUE(stage_->try_submit(request(1)));
  control_->wait_until_held();

  stage_->shutdown();

  EXPECT_EQ(terminal_error()->code, ErrorCode::kUnavailable);
  EXPECT_EQ(terminal_error()->code, ErrorCode::kUnavailable);
  auto late = request(1);
  EXPECT_FALSE(stage_->try_submit(std::move(late)));
  late->end(std::nullopt, clock_.now());  // NOLINT(bugprone-use-after-move): the contract
}

}  // namespace
}  // namespace tessera::encode
