#include "encode/encode_stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "core/bounded_queue.h"
#include "core/token_stream.h"
#include "runtime/fake/fake_runtime.h"

namespace tessera::encode {
namespace {

using runtime::fake::Call;
using runtime::fake::Effect;
using runtime::fake::FakeControl;

class EncodeStageTest : public ::testing::Test, public EncodeObserver {
 protected:
  EncodeStageTest() { start({}); }

  /// @param n_patches_max  of a step; 0 = no batches
  void start(runtime::fake::FakeOptions options, int n_patches_max = 0) {
    options.control = control_;
    options.takes_batches = n_patches_max > 0;
    loaded_ = runtime::fake::load(options).value();
    stage_ = std::make_unique<EncodeStage>(
        std::move(loaded_.encoder), cache_, EncodeOptions{kCapacity, n_patches_max}, clock_, this,
        EncodeHooks{
            [this](std::unique_ptr<InFlight> request) { (void)done_.try_push(std::move(request)); },
            [this] { wakes_.wake(); }});
  }

  /// The features that a request has once `n` of them are there.
  void await_features(InFlight& request, std::size_t n) {
    const auto n_there = [&] {
      const auto& all = request.embeddings;
      return all.size() - static_cast<std::size_t>(std::ranges::count(all, nullptr));
    };
    while (n_there() < n) {
      ASSERT_NE(request.arriving, nullptr);
      ASSERT_EQ(request.arriving->take(request.embeddings), std::nullopt);
      if (n_there() < n) (void)wakes_.pop_or_wake({}, std::chrono::minutes(1));
    }
  }

  void on_encode(int /*n_patches*/, Duration /*duration*/) override { ++n_encodes_; }
  void on_shared(int n_tiles) override { n_shared_ += n_tiles; }

  struct Client {
    std::stop_source stop;
    std::shared_ptr<TokenStream> stream = std::make_shared<TokenStream>(stop);

    std::optional<Error> terminal_error() const {
      const auto event = stream->pop({});
      return std::get<StreamEnd>(*event).error;
    }
  };

  /// @param images  each letter one image; equal letters have equal features
  std::unique_ptr<InFlight> request(const std::string& images, const Client& client,
                                    CachePolicy policy = {}) {
    auto in_flight = std::make_unique<InFlight>(
        RequestId{1}, TenantId{0}, Request{}, Limits{}, Trace(clock_.now()),
        clock_.now() + std::chrono::hours(1), client.stop.get_token(), client.stream);
    in_flight->request.cache = policy;
    std::vector<runtime::PromptPart> parts;
    std::vector<ImageSize> sizes;
    for (std::size_t i = 0; i < images.size(); ++i) {
      parts.emplace_back(runtime::MediaPlace{i});
      // Four columns of one cell are not the shape of two rows of two.
      sizes.push_back(images[i] < 'a' ? ImageSize{112, 28} : ImageSize{56, 56});
      const Image image{sizes[i], std::vector<std::uint8_t>(112 * 28 * 3, 7)};
      auto tiles = loaded_.model->prepare(image).value();
      for (auto& tile : tiles) in_flight->tiles.push_back(std::move(tile));
      in_flight->feature_keys.push_back(key(images[i]));
    }
    in_flight->prompt = loaded_.model->tokenize(parts, whole_images(sizes)).value();
    in_flight->embeddings.resize(images.size());
    return in_flight;
  }

  std::unique_ptr<InFlight> request(const std::string& images) { return request(images, client_); }

  static Digest key(char image) {
    Digest digest;
    digest.bytes[0] = static_cast<std::uint8_t>(image);
    return digest;
  }

  std::optional<Error> terminal_error() const { return client_.terminal_error(); }

  /// The next request that goes on; ended when it is complete.
  void await_done() {
    const auto done = done_.pop({});
    await_features(**done, (*done)->embeddings.size());
    (*done)->end(std::nullopt, clock_.now());
  }

  static constexpr std::size_t kCapacity = 4;
  const std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
  SteadyClock clock_;
  cache::FeatureStore cache_{{1'000'000, true}, clock_};
  Client client_;
  runtime::LoadedModel loaded_;
  std::atomic<int> n_encodes_{0};
  std::atomic<int> n_shared_{0};
  BoundedQueue<std::unique_ptr<InFlight>> done_{16};
  BoundedQueue<int> wakes_{1};
  std::unique_ptr<EncodeStage> stage_;
};

TEST_F(EncodeStageTest, HandsOnARequestWithItsFirstFeaturesAndSendsTheOthersAfterIt) {
  control_->fail(Call::kEncode, 2, Effect::kSlow);
  ASSERT_TRUE(stage_->try_submit(request("ab")));

  const auto encoded = *done_.pop({});
  ASSERT_EQ(encoded->embeddings.size(), 2U);
  EXPECT_EQ(encoded->embeddings[0]->n_tokens, 4);
  EXPECT_EQ(encoded->embeddings[1], nullptr);
  EXPECT_TRUE(encoded->tiles.empty());
  control_->wait_until_held();
  EXPECT_TRUE(encoded->arriving->is_encoding());

  control_->release();
  await_features(*encoded, 2);
  encoded->end(std::nullopt, clock_.now());
}

TEST_F(EncodeStageTest, FailedEncodeEndsTheRequest) {
  control_->fail(Call::kEncode, 1, Effect::kError);

  ASSERT_TRUE(stage_->try_submit(request("ab")));

  EXPECT_EQ(terminal_error()->code, ErrorCode::kInternal);
}

TEST_F(EncodeStageTest, AFailureReachesARequestThatHasGoneOn) {
  control_->fail(Call::kEncode, 2, Effect::kError);
  ASSERT_TRUE(stage_->try_submit(request("ab")));
  const auto gone_on = *done_.pop({});

  std::optional<Error> error;
  while (!error) {
    error = gone_on->arriving->take(gone_on->embeddings);
    if (!error) (void)wakes_.pop_or_wake({}, std::chrono::minutes(1));
  }
  EXPECT_EQ(error->code, ErrorCode::kInternal);
  gone_on->end(*error, clock_.now());
}

TEST_F(EncodeStageTest, TilesOfARequestThatWasCancelledElsewhereAreNotDone) {
  control_->fail(Call::kEncode, 2, Effect::kSlow);
  Client first;
  ASSERT_TRUE(stage_->try_submit(request("abc", first)));
  const auto gone_on = *done_.pop({});
  control_->wait_until_held();

  first.stop.request_stop();
  gone_on->end(std::nullopt, clock_.now());
  ASSERT_TRUE(stage_->try_submit(request("d")));
  await_done();

  EXPECT_EQ(n_encodes_, 2) << "a and d";
}

TEST_F(EncodeStageTest, TilesOfOneShapeAreEncodedTogether) {
  start({}, 1000);
  ASSERT_TRUE(stage_->try_submit(request("aBcBd")));
  await_done();

  EXPECT_EQ(control_->n_calls(Call::kEncode), 2) << "acd, and B";
  EXPECT_EQ(n_encodes_, 4);
  EXPECT_EQ(control_->n_violations(), 0) << control_->last_violation();
}

TEST_F(EncodeStageTest, WhenABatchFailsOnlyTheTileAtFaultDoes) {
  start({}, 1000);
  control_->fail(Call::kEncode, 1, Effect::kSlow);  // until the two below are there
  control_->fail(Call::kEncode, 2, Effect::kError);
  control_->fail(Call::kEncode, 3, Effect::kError);
  Client second;
  ASSERT_TRUE(stage_->try_submit(request("x")));
  control_->wait_until_held();
  ASSERT_TRUE(stage_->try_submit(request("a")));
  ASSERT_TRUE(stage_->try_submit(request("b", second)));

  control_->release();
  await_done();
  await_done();

  EXPECT_EQ(control_->n_calls(Call::kEncode), 4) << "x, ab, a, b";
  EXPECT_EQ(n_encodes_, 2);
}

TEST_F(EncodeStageTest, SaysHowLongItHasBeenAtAStepAndNothingWhenNobodyWaits) {
  EXPECT_EQ(stage_->no_progress(), Duration{});
  control_->fail(Call::kEncode, 1, Effect::kSlow);
  ASSERT_TRUE(stage_->try_submit(request("a")));
  control_->wait_until_held();
  EXPECT_GT(stage_->no_progress(), Duration{});

  control_->release();
  await_done();
  EXPECT_EQ(stage_->no_progress(), Duration{});
}

TEST_F(EncodeStageTest, CancellationStopsTheEncodeThatRuns) {
  control_->fail(Call::kEncode, 1, Effect::kSlow);
  ASSERT_TRUE(stage_->try_submit(request("a")));
  control_->wait_until_held();

  client_.stop.request_stop();

  EXPECT_EQ(terminal_error()->code, ErrorCode::kCancelled);
}

TEST_F(EncodeStageTest, OneEncodeServesAllWhoWaitAndTheCacheThoseWhoComeLater) {
  control_->fail(Call::kEncode, 1, Effect::kSlow);
  Client first;
  ASSERT_TRUE(stage_->try_submit(request("a", first)));
  control_->wait_until_held();
  ASSERT_TRUE(stage_->try_submit(request("a")));
  ASSERT_TRUE(stage_->try_submit(request("ab")));
  EXPECT_EQ(n_shared_, 2);

  control_->release();
  for (int i = 0; i < 3; ++i) await_done();
  EXPECT_EQ(n_encodes_, 2);

  ASSERT_TRUE(stage_->try_submit(request("ba")));
  await_done();
  EXPECT_EQ(n_encodes_, 2) << "planned before the others were done, found after";
}

TEST_F(EncodeStageTest, ATileThatOthersWaitForGoesOnWhenItsFirstIsCancelled) {
  control_->fail(Call::kEncode, 1, Effect::kSlow);
  Client first;
  ASSERT_TRUE(stage_->try_submit(request("a", first)));
  control_->wait_until_held();
  ASSERT_TRUE(stage_->try_submit(request("a")));

  first.stop.request_stop();
  control_->release();
  await_done();
  await_done();

  EXPECT_EQ(n_encodes_, 1) << "its features were ready for both";
}

TEST_F(EncodeStageTest, TheEncodeStopsWhenTheLastWhoWaitsIsCancelled) {
  control_->fail(Call::kEncode, 1, Effect::kSlow);
  Client first;
  Client second;
  ASSERT_TRUE(stage_->try_submit(request("a", first)));
  control_->wait_until_held();
  ASSERT_TRUE(stage_->try_submit(request("a", second)));

  first.stop.request_stop();
  second.stop.request_stop();

  EXPECT_EQ(first.terminal_error()->code, ErrorCode::kCancelled);
  EXPECT_EQ(second.terminal_error()->code, ErrorCode::kCancelled);
  ASSERT_TRUE(stage_->try_submit(request("a")));
  await_done();
  EXPECT_EQ(n_encodes_, 1) << "what was stopped is not used";
}

TEST_F(EncodeStageTest, FeaturesOfARequestThatSharesWithNoneAreNotKept) {
  CachePolicy alone;
  alone.scope = CachePolicy::Scope::kRequest;
  ASSERT_TRUE(stage_->try_submit(request("aa", client_, alone)));
  await_done();

  EXPECT_EQ(n_encodes_, 1) << "the same image twice";
  EXPECT_EQ(cache_.memory_stats().n_entries, 0U);
}

TEST_F(EncodeStageTest, ShutdownEndsWhatRunsAndWhatWaits) {
  control_->fail(Call::kEncode, 1, Effect::kSlow);
  ASSERT_TRUE(stage_->try_submit(request("a")));
  ASSERT_TRUE(stage_->try_submit(request("a")));
  control_->wait_until_held();

  stage_->shutdown();

  EXPECT_EQ(terminal_error()->code, ErrorCode::kUnavailable);
  EXPECT_EQ(terminal_error()->code, ErrorCode::kUnavailable);
  auto late = request("a");
  EXPECT_FALSE(stage_->try_submit(std::move(late)));
  late->end(std::nullopt, clock_.now());  // NOLINT(bugprone-use-after-move): the contract
}

}  // namespace
}  // namespace tessera::encode
