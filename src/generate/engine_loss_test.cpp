// What the engine does when the process of the model dies.
#include "generate/test_engine.h"

namespace tessera::generate {
namespace {

TEST_F(EngineTest, ALossEndsWhoIsInTheEngineAndNoOthers) {
  FakeOptions fake;
  fake.n_sequences_max = 2;
  start(fake);
  control->fail(Call::kDecodeTokens, 3, Effect::kLost);
  const Asked one = add({.text = "count:9", .n_choices = 2});
  const Asked waits = add({.text = "say:later"});

  run();

  EXPECT_EQ(one.recorder->reason(), "engine_lost");
  EXPECT_EQ(one.recorder->end().error->code, ErrorCode::kUnavailable);
  EXPECT_GT(one.recorder->end().error->retry_after.count(), 0);
  EXPECT_EQ(one.recorder->tokens(0).size(), 2U) << "what was sent stays sent";
  EXPECT_EQ(waits.recorder->text(), "later");
  EXPECT_EQ(waits.recorder->reason(), "");
}

TEST_F(EngineTest, NoKeptPromptOutlivesALoss) {
  FakeOptions fake;
  fake.n_sequences_max = 4;
  start(fake, {.n_kept_prefixes = 2});
  const std::string text(100, 'x');
  add({.text = text, .max_output_tokens = 1});
  run();
  EXPECT_GT(engine->stats().load.n_kv_cells_kept, 0);

  control->fail(Call::kMakeSampler, 2, Effect::kLost);
  const Asked next = add({.text = text, .max_output_tokens = 1});
  run();

  EXPECT_EQ(next.recorder->reason(), "") << "it had not begun: nothing of it was lost";
  EXPECT_EQ(next.recorder->end().trace.counts.n_cached_tokens, 0);
}

TEST_F(EngineTest, WaitsWhileTheModelStartsAndLooksAtDeadlines) {
  start();
  const Asked patient = add({.text = "say:hello"});
  const Asked hasty = add({.text = "say:hello"}, seconds(5));
  executor->pretends = runtime::Availability::kStarting;

  engine->step();
  EXPECT_TRUE(engine->starved());
  clock.advance(seconds(6));
  engine->step();
  EXPECT_EQ(hasty.recorder->reason(), "deadline_exceeded");
  EXPECT_EQ(control->n_calls(Call::kDecodeTokens), 0);

  executor->pretends = std::nullopt;
  run();
  EXPECT_EQ(patient.recorder->text(), "hello");
}

TEST_F(EngineTest, EndsEverybodyWhenTheModelDoesNotStart) {
  start();
  const Asked asked = add({.text = "say:hello"});
  executor->pretends = runtime::Availability::kFailed;

  engine->step();

  EXPECT_EQ(asked.recorder->reason(), "engine_unavailable");
  EXPECT_TRUE(engine->idle());
}

}  // namespace
}  // namespace tessera::generate
