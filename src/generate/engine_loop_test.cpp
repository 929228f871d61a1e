#include "generate/engine_loop.h"

#include <gtest/gtest.h>

#include <thread>

#include "generate/test_requests.h"
#include "runtime/fake/fake_runtime.h"

namespace tessera::generate {
namespace {

using runtime::fake::Call;
using runtime::fake::Effect;
using runtime::fake::FakeControl;
using runtime::fake::FakeOptions;

class EngineLoopTest : public testing::Test {
 protected:
  void start(FakeOptions fake = {}, const EngineOptions& options = {}) {
    fake.control = control;
    auto loaded = std::move(runtime::fake::load(fake)).value();
    model = loaded.model;
    encoder = std::move(loaded.encoder);
    loop = std::make_unique<EngineLoop>(std::move(loaded.executor), model, options, clock, nullptr);
  }

  ~EngineLoopTest() override {
    control->release();
    loop->shutdown();
    EXPECT_EQ(loop->stats().load.n_kv_cells_used, 0);
    EXPECT_EQ(control->n_violations(), 0) << control->last_violation();
  }

  std::unique_ptr<InFlight> make(const Ask& ask, const Asked& asked) {
    return make_request(*model, encoder.get(), ask, asked, clock.now());
  }

  Asked submit(const Ask& ask) {
    Asked asked;
    EXPECT_TRUE(loop->try_submit(make(ask, asked)));
    return asked;
  }

  std::shared_ptr<FakeControl> control = std::make_shared<FakeControl>();
  SteadyClock clock;
  std::shared_ptr<const runtime::Model> model;
  std::unique_ptr<runtime::Encoder> encoder;
  std::unique_ptr<EngineLoop> loop;
};

TEST_F(EngineLoopTest, AnswersOnItsOwnThread) {
  start();
  const Asked one = submit({.text = "say:one", .images = {{56, 56}}});
  const Asked two = submit({.text = "say:two"});

  one.recorder->wait_until_ended();
  two.recorder->wait_until_ended();

  EXPECT_EQ(one.recorder->text(), "one");
  EXPECT_EQ(two.recorder->text(), "two");
}

TEST_F(EngineLoopTest, WakesUpAgainAfterBeingIdle) {
  start();
  for (int i = 0; i < 20; ++i) {
    const Asked asked = submit({.text = "say:x"});
    asked.recorder->wait_until_ended();
    EXPECT_EQ(asked.recorder->text(), "x");
  }
}

TEST_F(EngineLoopTest, CountsTheTimeInTheInboxAsScheduleWait) {
  control->fail(Call::kDecodeTokens, 1, Effect::kSlow);
  start();
  const Asked first = submit({.text = "say:x"});
  control->wait_until_held();
  const Asked waits = submit({.text = "say:y"});
  control->release();
  waits.recorder->wait_until_ended();

  const Trace trace = waits.recorder->end().trace;
  EXPECT_GT(trace.in(Stage::kScheduleWait), Duration{});
  Duration sum{};
  for (std::size_t i = 0; i < kStageCount; ++i) sum += trace.in(static_cast<Stage>(i));
  EXPECT_EQ(sum, trace.total());
}

TEST_F(EngineLoopTest, RefusesWhenFullAndLeavesTheRequestUntouched) {
  control->fail(Call::kDecodeTokens, 1, Effect::kSlow);
  EngineOptions options;
  options.n_waiting_max = 1;
  start({}, options);
  const Asked running = submit({.text = "say:x"});
  control->wait_until_held();
  const Asked waiting = submit({.text = "say:y"});
  Asked asked;
  auto refused = make({.text = "say:z"}, asked);
  refused->trace.enter(Stage::kEncode, clock.now());

  EXPECT_FALSE(loop->try_submit(std::move(refused)));

  ASSERT_NE(refused, nullptr);  // NOLINT(bugprone-use-after-move): the contract under test
  EXPECT_EQ(refused->trace.stage(), Stage::kEncode);
  refused->end(std::nullopt, clock.now());
}

TEST_F(EngineLoopTest, CancellationEndsTheCallThatRuns) {
  control->fail(Call::kDecodeTokens, 1, Effect::kUntilStopped);
  start();
  Asked asked = submit({.text = "count:1000"});
  while (control->n_calls(Call::kDecodeTokens) == 0) std::this_thread::yield();

  asked.stop.request_stop();
  asked.recorder->wait_until_ended();

  EXPECT_EQ(asked.recorder->reason(), "cancelled");
}

TEST_F(EngineLoopTest, ShutdownEndsTheCallThatRuns) {
  control->fail(Call::kDecodeTokens, 1, Effect::kUntilStopped);
  start();
  const Asked asked = submit({.text = "count:1000"});
  while (control->n_calls(Call::kDecodeTokens) == 0) std::this_thread::yield();

  loop->shutdown();

  EXPECT_EQ(asked.recorder->reason(), "shutting_down");
}

TEST_F(EngineLoopTest, ShutdownEndsEverythingWherever) {
  control->fail(Call::kDecodeTokens, 2, Effect::kSlow);
  FakeOptions fake;
  fake.n_sequences_max = 1;
  start(fake);
  const Asked running = submit({.text = "count:1000"});
  control->wait_until_held();
  const Asked in_inbox = submit({.text = "count:1000"});
  std::jthread releaser([this] { control->release(); });

  loop->shutdown();

  EXPECT_EQ(running.recorder->end().error->code, ErrorCode::kUnavailable);
  EXPECT_EQ(running.recorder->reason(), "shutting_down");
  EXPECT_EQ(in_inbox.recorder->reason(), "shutting_down");
  Asked late;
  auto refused = make({.text = "say:x"}, late);
  EXPECT_FALSE(loop->try_submit(std::move(refused)));
  refused->end(std::nullopt, clock.now());  // NOLINT(bugprone-use-after-move): untouched
}

TEST_F(EngineLoopTest, CancelsFromAnotherThread) {
  start();
  Asked asked = submit({.text = "count:4000", .max_output_tokens = 4000});

  asked.stop.request_stop();
  asked.recorder->wait_until_ended();

  EXPECT_EQ(asked.recorder->reason(), "cancelled");
}

}  // namespace
}  // namespace tessera::generate
