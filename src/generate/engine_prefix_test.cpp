// Prompts that begin alike are computed once: after one another, beside one another, and by the
// choices of one request. Answers are those that each would get alone.
#include <gtest/gtest.h>

#include "generate/engine.h"
#include "generate/test_requests.h"
#include "runtime/fake/fake_runtime.h"

namespace tessera::generate {
namespace {

using runtime::fake::Call;
using runtime::fake::Effect;
using runtime::fake::FakeControl;
using runtime::fake::FakeOptions;

constexpr ImageSize kImage{140, 140};  // 25 visual tokens
constexpr int kImageTokens = 25;

struct Who {
  std::uint32_t tenant = 0;
  CachePolicy::Scope scope = CachePolicy::Scope::kTenant;
};

class EnginePrefixTest : public testing::Test, public EngineObserver {
 protected:
  void start(FakeOptions fake = {}, int n_kept = 4) {
    fake.control = control_;
    auto loaded = std::move(runtime::fake::load(fake)).value();
    model_ = loaded.model;
    encoder_ = std::move(loaded.encoder);
    EngineOptions options;
    options.n_kept_prefixes = n_kept;
    engine_ = std::make_unique<Engine>(std::move(loaded.executor), model_, options, clock_, this);
  }

  ~EnginePrefixTest() override {
    run();
    EXPECT_EQ(engine_->stats().load.n_kv_cells_used, 0);
    EXPECT_EQ(engine_->stats().n_bugs, 0U);
    EXPECT_EQ(control_->n_violations(), 0) << control_->last_violation();
  }

  void on_step(const StepReport& step) override {
    n_text_rows_ += step.n_text_rows();
    n_visual_rows_ += step.n_visual_rows();
  }

  /// @param image  equal numbers have equal features
  Asked ask(const std::string& text, std::uint8_t image, Who who = {}, int n_choices = 1) {
    Asked asked;
    auto made = make_request(*model_, encoder_.get(),
                             {.text = text, .images = {kImage}, .n_choices = n_choices}, asked,
                             clock_.now());
    // The features that make_request() gives depend on the text's length.
    auto request = std::make_unique<InFlight>(
        RequestId{1}, TenantId{who.tenant}, std::move(made->request), Limits{}, Trace(clock_.now()),
        made->deadline, asked.stop.get_token(), asked.recorder);
    request->request.cache.scope = who.scope;
    request->prompt = made->prompt;
    request->embeddings.push_back(features_of(image));
    Digest key;
    key.bytes[0] = image;
    request->feature_keys.push_back(key);
    made->end(std::nullopt, clock_.now());
    asked.recorder->clear();
    engine_->add(std::move(request));
    return asked;
  }

  std::shared_ptr<const Embedding> features_of(std::uint8_t image) const {
    const auto tiles = model_->prepare(test_image(kImage, image));
    return std::make_shared<const Embedding>(encoder_->encode(*tiles->front(), {}).value());
  }

  void run() {
    for (int n_steps = 0; !engine_->idle(); ++n_steps) {
      ASSERT_LT(n_steps, 10'000);
      engine_->step();
    }
  }

  int cached(const Asked& asked) { return asked.recorder->end().trace.counts.n_cached_tokens; }

  const std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
  ManualClock clock_;
  std::shared_ptr<const runtime::Model> model_;
  std::unique_ptr<runtime::Encoder> encoder_;
  std::unique_ptr<Engine> engine_;
  int n_text_rows_ = 0;
  int n_visual_rows_ = 0;
};

TEST_F(EnginePrefixTest, TheSameImageIsPrefilledOnce) {
  start();
  const Asked first = ask("what is it?", 1);
  run();
  EXPECT_EQ(n_visual_rows_, kImageTokens);
  EXPECT_EQ(cached(first), 0);
  EXPECT_GT(engine_->stats().load.n_kv_cells_kept, kImageTokens);

  const Asked second = ask("what colour?", 1);
  run();
  EXPECT_EQ(n_visual_rows_, kImageTokens) << "nothing of it again";
  EXPECT_GT(cached(second), kImageTokens);

  start({}, 0);
  n_visual_rows_ = 0;
  const Asked alone = ask("what colour?", 1);
  run();
  EXPECT_EQ(second.recorder->tokens(), alone.recorder->tokens());
}

TEST_F(EnginePrefixTest, ThoseThatComeTogetherWaitForTheFirst) {
  start();
  std::vector<Asked> all;
  for (const char* text : {"say:one", "say:two", "say:three", "say:four"}) {
    all.push_back(ask(text, 1));
  }
  run();

  EXPECT_EQ(n_visual_rows_, kImageTokens);
  EXPECT_EQ(all[0].recorder->text(), "one");
  EXPECT_EQ(all[1].recorder->text(), "two");
  EXPECT_EQ(all[2].recorder->text(), "three");
  EXPECT_EQ(all[3].recorder->text(), "four");
  EXPECT_EQ(cached(all[0]), 0);
  EXPECT_GE(cached(all[3]), kImageTokens);
}

TEST_F(EnginePrefixTest, WhenTheFirstLeavesAnotherTakesItsPlace) {
  start();
  Asked first = ask("count:9", 1);
  const Asked second = ask("say:two", 1);
  const Asked third = ask("say:three", 1);
  engine_->step();
  first.stop.request_stop();
  run();

  EXPECT_EQ(first.recorder->reason(), "cancelled");
  EXPECT_EQ(second.recorder->text(), "two");
  EXPECT_EQ(third.recorder->text(), "three");
  EXPECT_LE(n_visual_rows_, 2 * kImageTokens);
}

TEST_F(EnginePrefixTest, AFailedCallEndsItsOwnAndTheOthersComputeForThemselves) {
  start();
  control_->fail(Call::kDecodeVisual, 1, Effect::kFatal);
  const Asked first = ask("say:one", 1);
  const Asked second = ask("say:two", 1);
  run();

  EXPECT_EQ(first.recorder->reason(), "model_failed");
  EXPECT_EQ(second.recorder->text(), "two");
}

TEST_F(EnginePrefixTest, ChoicesShareTheirPrompt) {
  start({}, 0);
  const Asked asked = ask("say:both", 1, {0, CachePolicy::Scope::kRequest}, 3);
  run();

  EXPECT_EQ(n_visual_rows_, kImageTokens);
  for (int choice = 0; choice < 3; ++choice) EXPECT_EQ(asked.recorder->text(choice), "both");
  EXPECT_EQ(cached(asked), 0) << "nobody else computed it";
}

TEST_F(EnginePrefixTest, TenantsAndThoseWhoShareWithNobodyComputeForThemselves) {
  start();
  constexpr auto kRequest = CachePolicy::Scope::kRequest;
  const std::vector<Who> all{{1}, {2}, {1, kRequest}, {1, kRequest}};
  std::vector<Asked> asked;
  for (const Who& who : all) asked.push_back(ask("say:mine", 1, who));
  run();
  asked.push_back(ask("say:mine", 1, {3}));
  asked.push_back(ask("say:mine", 1, {2, kRequest}));
  run();

  EXPECT_EQ(n_visual_rows_, 6 * kImageTokens);
  for (const Asked& one : asked) EXPECT_EQ(cached(one), 0);
}

TEST_F(EnginePrefixTest, AnotherImageIsAnotherPrompt) {
  start();
  ask("say:one", 1);
  const Asked other = ask("say:one", 2);
  run();

  EXPECT_EQ(n_visual_rows_, 2 * kImageTokens);
  EXPECT_LT(cached(other), kImageTokens);
}

TEST_F(EnginePrefixTest, WhatIsKeptMakesRoomForWhatRuns) {
  FakeOptions fake;
  fake.n_kv_cells = 256;
  start(fake);
  for (std::uint8_t image = 1; image < 6; ++image) {
    ask("count:3", image);
    run();
  }
  EXPECT_GT(engine_->stats().load.n_kv_cells_kept, 0);
  EXPECT_LE(engine_->stats().load.n_kv_cells_kept, 128);

  const Asked large = ask("count:180", 9);
  run();
  EXPECT_EQ(large.recorder->tokens().size(), 180U);
}

TEST_F(EnginePrefixTest, WhatIsKeptStaysWhileNobodyCouldStart) {
  FakeOptions fake;
  fake.n_kv_cells = 2150;    // two long answers, and hardly more
  fake.n_sequences_max = 5;  // one runs, four are kept
  start(fake);
  ask("say:kept", 1);
  run();
  const int n_kept = engine_->stats().load.n_kv_cells_kept;
  const Asked second = ask("count:200", 2);
  while (second.recorder->tokens().empty()) engine_->step();
  ask("count:200", 3);
  engine_->step();
  EXPECT_GE(engine_->stats().load.n_kv_cells_kept, n_kept) << "the third waits for the second";
}

TEST_F(EnginePrefixTest, AFullCacheDropsWhatIsKeptBeforeItEndsAnybody) {
  start();
  ask("say:one", 1);
  run();
  control_->fail(Call::kDecodeVisual, control_->n_calls(Call::kDecodeVisual) + 1,
                 Effect::kNoKvSlot);
  const Asked asked = ask("say:two", 2);
  run();

  EXPECT_EQ(asked.recorder->text(), "two");
}

TEST_F(EnginePrefixTest, AForgottenTenantComputesAgain) {
  start();
  ask("say:one", 1, {7});
  run();
  engine_->forget(TenantId{7});
  EXPECT_EQ(engine_->stats().load.n_kv_cells_kept, 0);

  const Asked again = ask("say:one", 1, {7});
  run();
  EXPECT_EQ(cached(again), 0);
}

TEST_F(EnginePrefixTest, ARuntimeThatCannotShareComputesEverything) {
  FakeOptions fake;
  fake.can_share = false;
  start(fake);
  const Asked asked = ask("say:both", 1, {}, 2);
  ask("say:x", 1);
  run();

  EXPECT_EQ(n_visual_rows_, 3 * kImageTokens);
  EXPECT_EQ(asked.recorder->text(1), "both");
}

}  // namespace
}  // namespace tessera::generate
