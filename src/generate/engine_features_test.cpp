// Requests whose features arrive while they run: what is there is prefilled, and nobody waits for
// what is not but its own request.
#include <gtest/gtest.h>

#include "generate/engine.h"
#include "generate/engine_loop.h"
#include "generate/test_requests.h"
#include "runtime/fake/fake_runtime.h"

namespace tessera::generate {
namespace {

using runtime::fake::FakeControl;
using runtime::fake::FakeOptions;
using std::chrono::milliseconds;

/// A request on its way to the engine, without its features; the test is the encode stage.
struct Incomplete {
  Asked asked;
  std::unique_ptr<InFlight> request;
  std::shared_ptr<ArrivingFeatures> arriving;
  std::vector<std::shared_ptr<const Embedding>> features;

  void land(std::size_t segment) { arriving->land(segment, features[segment]); }
};

class EngineFeaturesTest : public testing::Test {
 protected:
  EngineFeaturesTest() {
    FakeOptions fake;
    fake.control = control_;
    auto loaded = std::move(runtime::fake::load(fake)).value();
    model_ = loaded.model;
    encoder_ = std::move(loaded.encoder);
    executor_ = std::move(loaded.executor);
  }

  ~EngineFeaturesTest() override {
    EXPECT_EQ(control_->n_violations(), 0) << control_->last_violation();
  }

  Engine& engine() {
    if (engine_ == nullptr) {
      engine_ =
          std::make_unique<Engine>(std::move(executor_), model_, EngineOptions{}, clock_, nullptr);
    }
    return *engine_;
  }

  /// @param n_there  features that it comes with
  Incomplete make(const Ask& ask, std::size_t n_there, ArrivingFeatures::Wake wake = [] {}) {
    Incomplete made;
    made.request = make_request(*model_, encoder_.get(), ask, made.asked, clock_.now());
    made.features = made.request->embeddings;
    for (std::size_t i = n_there; i < made.features.size(); ++i) {
      made.request->embeddings[i] = nullptr;
    }
    made.arriving =
        std::make_shared<ArrivingFeatures>(made.asked.stop.get_token(), std::move(wake));
    made.request->arriving = made.arriving;
    made.request->feature_holds = memory_;
    made.request->trace.enter(Stage::kScheduleWait, clock_.now());
    return made;
  }

  Asked add_text(const std::string& text) {
    Asked asked;
    engine().add(make_request(*model_, encoder_.get(), {.text = text}, asked, clock_.now()));
    return asked;
  }

  /// Steps until the engine has nothing that it can compute.
  void run() {
    for (int n_steps = 0; !engine().idle(); ++n_steps) {
      ASSERT_LT(n_steps, 10'000);
      engine().step();
      if (engine().starved()) return;
    }
  }

  static constexpr const char* kAsk = "what is here?";
  const std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
  const std::shared_ptr<int> memory_ = std::make_shared<int>();
  ManualClock clock_;
  std::shared_ptr<const runtime::Model> model_;
  std::unique_ptr<runtime::Encoder> encoder_;
  std::unique_ptr<runtime::Executor> executor_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineFeaturesTest, TheReadyPrefixIsPrefilledAndTheAnswerIsTheSame) {
  const Ask ask{.text = kAsk, .images = {{84, 56}, {56, 56}}};
  Asked whole;
  engine().add(make_request(*model_, encoder_.get(), ask, whole, clock_.now()));
  run();

  Incomplete incomplete = make(ask, 1);
  engine().add(std::move(incomplete.request));
  run();
  EXPECT_TRUE(engine().starved());
  EXPECT_GE(engine().stats().load.n_kv_cells_used, 6) << "text and the first image";
  EXPECT_TRUE(incomplete.asked.recorder->events().empty());

  incomplete.land(1);
  run();
  EXPECT_EQ(incomplete.asked.recorder->tokens(), whole.recorder->tokens());
  EXPECT_TRUE(engine().idle());
}

TEST_F(EngineFeaturesTest, FeaturesMayArriveInAnyOrder) {
  const Ask ask{.text = "say:yes", .images = {{28, 28}, {56, 28}, {28, 56}}, .n_choices = 2};
  Incomplete incomplete = make(ask, 0);
  engine().add(std::move(incomplete.request));
  for (const std::size_t segment : {2U, 0U, 1U}) {
    run();
    EXPECT_TRUE(engine().starved());
    incomplete.land(segment);
  }
  run();

  EXPECT_EQ(incomplete.asked.recorder->text(0), "yes");
  EXPECT_EQ(incomplete.asked.recorder->text(1), "yes");
}

TEST_F(EngineFeaturesTest, OthersGoOnMeanwhile) {
  Incomplete incomplete = make({.text = "say:late", .images = {{56, 56}}}, 0);
  engine().add(std::move(incomplete.request));
  const Asked text = add_text("say:early");
  run();

  EXPECT_EQ(text.recorder->text(), "early");
  EXPECT_TRUE(engine().starved());
  incomplete.land(0);
  run();
  EXPECT_EQ(incomplete.asked.recorder->text(), "late");
}

TEST_F(EngineFeaturesTest, WhatWillNotArriveEndsItsRequestAlone) {
  Incomplete running = make({.text = kAsk, .images = {{56, 56}}}, 0);
  engine().add(std::move(running.request));
  run();
  Incomplete waiting = make({.text = kAsk, .images = {{56, 56}}}, 0);
  engine().add(std::move(waiting.request));
  const Asked text = add_text("say:fine");

  running.arriving->fail(make_error(ErrorCode::kInternal, "encode_failed", "it failed"));
  waiting.arriving->fail(make_error(ErrorCode::kInternal, "encode_failed", "it failed"));
  run();

  EXPECT_EQ(running.asked.recorder->reason(), "encode_failed");
  EXPECT_EQ(waiting.asked.recorder->reason(), "encode_failed");
  EXPECT_EQ(text.recorder->text(), "fine");
  EXPECT_TRUE(engine().idle());
}

TEST_F(EngineFeaturesTest, TheEncodeStageLearnsWhenItsRequestEnds) {
  Incomplete incomplete = make({.text = kAsk, .images = {{56, 56}}}, 0);
  engine().add(std::move(incomplete.request));
  run();
  EXPECT_FALSE(incomplete.arriving->unwanted().stop_requested());

  engine().end_all(make_error(ErrorCode::kUnavailable, "shutting_down", "it ends"));
  EXPECT_TRUE(incomplete.arriving->unwanted().stop_requested());
}

TEST_F(EngineFeaturesTest, FeaturesAreFreedOnceTheyArePrefilledForEveryChoice) {
  Incomplete incomplete =
      make({.text = "count:5", .images = {{56, 56}, {56, 56}}, .n_choices = 2}, 1);
  engine().add(std::move(incomplete.request));
  run();
  EXPECT_EQ(memory_.use_count(), 2);
  EXPECT_EQ(incomplete.features[0].use_count(), 2);

  incomplete.land(1);
  while (incomplete.asked.recorder->tokens(1).empty()) engine().step();
  EXPECT_EQ(memory_.use_count(), 1) << "it still puts tokens out";
  EXPECT_EQ(incomplete.features[0].use_count(), 1);
  EXPECT_EQ(incomplete.features[1].use_count(), 1);
  run();
}

TEST_F(EngineFeaturesTest, FeaturesThatSomebodyElsesPrefixMakesNeedlessAreEncodedNoFurther) {
  const Ask ask{.text = "say:same", .images = {{56, 56}, {56, 56}}, .n_choices = 2};
  Incomplete first = make(ask, 2);
  Incomplete second = make(ask, 1);
  for (Incomplete* one : {&first, &second}) {
    one->request->feature_keys.resize(2);
    one->request->feature_keys[1].bytes[0] = 1;
    engine().add(std::move(one->request));
  }
  run();

  EXPECT_EQ(first.asked.recorder->text(1), "same");
  EXPECT_EQ(second.asked.recorder->text(1), "same");
  EXPECT_TRUE(second.arriving->unwanted().stop_requested());
  second.land(1);
  EXPECT_TRUE(engine().idle());
}

TEST_F(EngineFeaturesTest, TheWaitCountsAsEncoding) {
  Incomplete incomplete = make({.text = "say:x", .images = {{56, 56}}}, 0);
  engine().add(std::move(incomplete.request));
  run();
  clock_.advance(milliseconds(30));
  incomplete.arriving->set_encoding(true);
  engine().step();
  clock_.advance(milliseconds(50));
  incomplete.arriving->set_encoding(false);
  incomplete.land(0);
  run();

  const Trace& trace = incomplete.asked.recorder->end().trace;
  EXPECT_EQ(trace.in(Stage::kEncodeWait), milliseconds(30));
  EXPECT_EQ(trace.in(Stage::kEncode), milliseconds(50));
}

TEST_F(EngineFeaturesTest, TheLoopWakesForFeaturesAndForCancellation) {
  EngineLoop loop(std::move(executor_), model_, {}, clock_, nullptr);
  Incomplete kept = make({.text = "say:seen", .images = {{56, 56}}}, 0, [&] { loop.wake(); });
  Incomplete left = make({.text = "say:no", .images = {{56, 56}}}, 0, [&] { loop.wake(); });
  ASSERT_TRUE(loop.try_submit(std::move(kept.request)));
  ASSERT_TRUE(loop.try_submit(std::move(left.request)));

  left.asked.stop.request_stop();
  left.asked.recorder->wait_until_ended();
  EXPECT_EQ(left.asked.recorder->reason(), "cancelled");

  kept.land(0);
  kept.asked.recorder->wait_until_ended();
  EXPECT_EQ(kept.asked.recorder->text(), "seen");
  loop.forget(TenantId{0});
  loop.forget_all();
  loop.shutdown();
}

}  // namespace
}  // namespace tessera::generate
