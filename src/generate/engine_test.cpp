#include "generate/engine.h"

#include <gtest/gtest.h>

#include "generate/test_engine.h"

namespace tessera::generate {
namespace {

TEST_F(EngineTest, AnswersAndEndsOnce) {
  start();
  const Asked asked = add({.text = "say:hello"});

  run();

  EXPECT_EQ(asked.recorder->text(), "hello");
  EXPECT_EQ(asked.recorder->choice_end()->reason, FinishReason::kStop);
  EXPECT_EQ(asked.recorder->choice_end()->n_output_tokens, 6);
  EXPECT_EQ(asked.recorder->end().error, std::nullopt);
  EXPECT_EQ(asked.recorder->end().trace.counts.n_output_tokens, 6);
}

TEST_F(EngineTest, AnswersRequestsTogether) {
  start();
  const Asked one = add({.text = "count:20"});
  const Asked other = add({.text = "count:20"});

  run();

  EXPECT_EQ(one.recorder->tokens().size(), 20U);
  EXPECT_EQ(other.recorder->tokens().size(), 20U);
  EXPECT_EQ(control->n_calls(Call::kDecodeTokens), 21);
}

TEST_F(EngineTest, EndsAChoiceAtTheOutputLimit) {
  start();
  const Asked asked = add({.text = "count:20", .max_output_tokens = 3});

  run();

  EXPECT_EQ(asked.recorder->text(), "abc");
  EXPECT_EQ(asked.recorder->choice_end()->reason, FinishReason::kLength);
  EXPECT_EQ(asked.recorder->choice_end()->n_output_tokens, 3);
}

TEST_F(EngineTest, EndsAChoiceAtTheTokenThatCompletesAStopString) {
  start();
  const Asked asked = add({.text = "say:one two three", .stop = {"tw", "o t"}});

  run();

  EXPECT_EQ(asked.recorder->text(), "one tw");
  EXPECT_EQ(asked.recorder->choice_end()->reason, FinishReason::kStop);
  EXPECT_EQ(asked.recorder->choice_end()->n_output_tokens, 6);
}

TEST_F(EngineTest, AnswersEachChoiceWithASeedOfItsOwn) {
  start();
  const Asked asked = add({.text = "what is it?", .n_choices = 4, .temperature = 1.F});

  run();

  for (int choice = 0; choice < 4; ++choice) {
    EXPECT_TRUE(asked.recorder->choice_end(choice).has_value());
    EXPECT_FALSE(asked.recorder->text(choice).empty());
  }
  EXPECT_NE(asked.recorder->text(0), asked.recorder->text(1));
  EXPECT_EQ(asked.recorder->n_ends(), 1);
}

TEST_F(EngineTest, GivesLogprobsAndJsonWhenAsked) {
  start();
  const Asked asked =
      add({.text = "x", .format = {ResponseFormat::Kind::kJsonObject, ""}, .logprobs = true});

  run();

  EXPECT_EQ(asked.recorder->text(), "{}");
  const auto delta = std::get<TokenDelta>(asked.recorder->events().front());
  EXPECT_TRUE(delta.logprob.has_value());
  EXPECT_EQ(delta.top_logprobs.size(), 2U);
}

TEST_F(EngineTest, StartsWaitingRequestsInOrderWhenRoomIsFree) {
  FakeOptions fake;
  fake.n_sequences_max = 2;
  start(fake);
  const Asked running = add({.text = "count:9"});
  const Asked large = add({.text = "count:2", .n_choices = 2});
  const Asked small = add({.text = "count:2"});

  engine->step();
  EXPECT_EQ(engine->stats().load.n_running_sequences, 1);
  EXPECT_EQ(engine->stats().load.n_waiting_requests, 2U);

  run();
  for (const Asked* asked : {&running, &large, &small}) EXPECT_EQ(asked->recorder->reason(), "");
}

TEST_F(EngineTest, LetsReservedCellsWait) {
  FakeOptions fake;
  fake.context_length = 60;
  fake.n_kv_cells = 60;
  start(fake);
  const Asked one = add({.text = "count:20", .max_output_tokens = 20});  // 10 + 20 cells
  const Asked two = add({.text = "count:20", .max_output_tokens = 20});
  const Asked three = add({.text = "count:20", .max_output_tokens = 20});

  engine->step();
  EXPECT_EQ(engine->stats().load.n_running_sequences, 2);

  run();
  for (const Asked* asked : {&one, &two, &three}) EXPECT_EQ(asked->recorder->reason(), "");
}

TEST_F(EngineTest, EndsARequestThatCanNeverFitAtOnce) {
  FakeOptions fake;
  fake.context_length = 20;
  start(fake);

  const Asked asked = add({.text = std::string(30, 'x')});

  EXPECT_EQ(asked.recorder->reason(), "context_length_exceeded");
  EXPECT_TRUE(engine->idle());
}

TEST_F(EngineTest, EndsCancelledRequestsWithinOneStepWhereverTheyAre) {
  FakeOptions fake;
  fake.n_sequences_max = 2;
  EngineOptions options;
  options.n_step_rows = 8;
  start(fake, options);
  Asked decoding = add({.text = "count:100"});
  engine->step();
  engine->step();
  Asked prefilling = add({.text = std::string(40, 'x'), .images = {{280, 28}}});
  Asked waiting = add({.text = "count:5"});
  engine->step();
  engine->step();
  engine->step();
  ASSERT_FALSE(decoding.recorder->tokens().empty());
  ASSERT_EQ(engine->stats().load.n_waiting_requests, 1U);
  ASSERT_EQ(control->n_calls(Call::kDecodeVisual), 2);

  for (Asked* asked : {&waiting, &prefilling, &decoding}) {
    asked->stop.request_stop();
    engine->step();
    EXPECT_EQ(asked->recorder->reason(), "cancelled");
  }

  EXPECT_TRUE(engine->idle());
}

TEST_F(EngineTest, EndsRequestsPastTheirDeadline) {
  FakeOptions fake;
  fake.n_sequences_max = 1;
  start(fake);
  const Asked running = add({.text = "count:1000"}, seconds(5));
  const Asked waiting = add({.text = "count:3"}, seconds(5));
  engine->step();

  clock.advance(seconds(5));
  engine->step();

  EXPECT_EQ(running.recorder->reason(), "deadline_exceeded");
  EXPECT_EQ(waiting.recorder->reason(), "deadline_exceeded");
}

// What a row takes is known from the first prompt; the second has 2,000, thirty-two calls.
TEST_F(EngineTest, DoesNotComputeWhatCannotBeDoneInTime) {
  FakeOptions fake;
  fake.context_length = 4000;
  start(fake);
  const std::string long_text(2000, 'x');
  add({.text = std::string(200, 'y'), .max_output_tokens = 1});
  run();
  const int n_calls = control->n_calls(Call::kDecodeTokens);

  const Asked hopeless = add({.text = long_text, .max_output_tokens = 1}, 10 * kTokenCallTime);
  run();
  EXPECT_EQ(hopeless.recorder->reason(), "deadline_too_short");
  EXPECT_LE(control->n_calls(Call::kDecodeTokens), n_calls + 1);

  const Asked in_time = add({.text = long_text, .max_output_tokens = 1}, 40 * kTokenCallTime);
  run();
  EXPECT_EQ(in_time.recorder->reason(), "");
}

TEST_F(EngineTest, EndsTheNewestRequestWhenTheKvCacheIsFull) {
  start();
  control->fail(Call::kDecodeTokens, 2, Effect::kNoKvSlot);
  const Asked oldest = add({.text = "say:oldest"});
  const Asked newest = add({.text = "say:newest"});

  run();

  EXPECT_EQ(oldest.recorder->text(), "oldest");
  ASSERT_EQ(newest.recorder->reason(), "kv_cache_full");
  EXPECT_GT(newest.recorder->end().error->retry_after.count(), 0);
}

TEST_F(EngineTest, FailsOnlyTheSequencesOfAFatalCall) {
  FakeOptions fake;
  fake.can_mix = false;
  start(fake);
  const Asked with_image = add({.text = "say:image", .images = {{56, 56}}});
  const Asked text = add({.text = "say:text"});
  control->fail(Call::kDecodeVisual, 1, Effect::kFatal);

  run();

  EXPECT_EQ(with_image.recorder->reason(), "model_failed");
  EXPECT_EQ(text.recorder->text(), "text");
}

TEST_F(EngineTest, ATenantDoesNotWaitForAllRequestsOfAnother) {
  FakeOptions fake;
  fake.n_sequences_max = 1;
  start(fake);
  std::vector<Asked> first;
  for (int i = 0; i < 5; ++i) first.push_back(add({.text = "say:one", .tenant = 1}));
  engine->step();  // one of them has begun
  const Asked second = add({.text = "say:two", .tenant = 2});

  run();

  EXPECT_EQ(second.recorder->text(), "two");
  const auto waited = [](const Asked& asked) {
    return asked.recorder->end().trace.in(Stage::kScheduleWait);
  };
  EXPECT_GT(waited(second), waited(first[0]));
  for (std::size_t i = 1; i < first.size(); ++i) EXPECT_LT(waited(second), waited(first[i])) << i;
}

TEST_F(EngineTest, AModelCallGoesOnAsLongAsOneWaitsForIt) {
  start();
  Asked first = add({.text = "count:100"});
  Asked second = add({.text = "count:100"});
  const Asked third = add({.text = "count:100"}, kTokenCallTime * 3);
  engine->step();
  executor->during_call = [&](const runtime::ShouldStop& stop) {
    EXPECT_FALSE(stop());
    first.stop.request_stop();
    EXPECT_FALSE(stop());
    second.stop.request_stop();
    EXPECT_FALSE(stop());
    clock.advance(kTokenCallTime);  // past the deadline of the third
    EXPECT_TRUE(stop());
  };
  control->fail(Call::kDecodeTokens, 2, Effect::kUntilStopped);

  engine->step();

  EXPECT_EQ(first.recorder->reason(), "cancelled");
  EXPECT_EQ(second.recorder->reason(), "cancelled");
  EXPECT_EQ(third.recorder->reason(), "deadline_exceeded");
}

TEST_F(EngineTest, FailsEverybodyWhoHasAPartInAFatalCall) {
  FakeOptions fake;
  fake.n_sequences_max = 2;
  start(fake);
  control->fail(Call::kDecodeVisual, 1, Effect::kFatal);
  const Asked text = add({.text = "count:100"});
  const Asked image = add({.text = "say:image", .images = {{56, 56}}});
  const Asked waiting = add({.text = "say:waiting"});

  run();

  EXPECT_EQ(text.recorder->reason(), "model_failed");
  EXPECT_EQ(image.recorder->reason(), "model_failed");
  EXPECT_EQ(waiting.recorder->text(), "waiting");
}

TEST_F(EngineTest, CountsAnInvalidBatchAndSurvives) {
  start();
  control->fail(Call::kDecodeTokens, 1, Effect::kInvalidBatch);
  const Asked asked = add({.text = "say:x"});

  run();

  EXPECT_EQ(asked.recorder->reason(), "model_failed");
  EXPECT_EQ(engine->stats().n_bugs, 1U);
}

TEST_F(EngineTest, NamesCancellationWhenAnAbortedCallWasCancelled) {
  start();
  control->fail(Call::kDecodeTokens, 1, Effect::kAborted);
  const Asked waits = add({.text = "say:x"}, kTokenCallTime);  // past it when the call returns
  const Asked other = add({.text = "say:y"});

  run();

  EXPECT_EQ(waits.recorder->reason(), "deadline_exceeded");
  EXPECT_EQ(other.recorder->reason(), "model_failed");
}

TEST_F(EngineTest, EndsTheRequestOfASamplerThatFails) {
  start();
  control->fail(Call::kSample, 3, Effect::kError);
  const Asked fails = add({.text = "say:abc"});
  const Asked other = add({.text = "say:abc"});

  run();

  EXPECT_EQ(fails.recorder->reason(), "sampler_failed");
  EXPECT_EQ(other.recorder->text(), "abc");
}

TEST_F(EngineTest, EndsEverythingWithTheGivenError) {
  FakeOptions fake;
  fake.n_sequences_max = 1;
  start(fake);
  const Asked running = add({.text = "count:100"});
  const Asked waiting = add({.text = "count:100"});
  engine->step();

  engine->end_all(make_error(ErrorCode::kUnavailable, "shutting_down", ""));

  EXPECT_EQ(running.recorder->reason(), "shutting_down");
  EXPECT_EQ(waiting.recorder->reason(), "shutting_down");
}

TEST_F(EngineTest, AccountsEveryModelCallToTheStageOfEachRequest) {
  FakeOptions fake;
  fake.can_mix = false;
  start(fake, {.inter_token = seconds(1)});
  const Asked text = add({.text = "count:4"});
  const Asked image = add({.text = "count:1", .images = {{56, 84}}});  // 4 and 2 visual tokens

  run();

  // call  │ A1   │ A2     B1     │ A3     B2     │ A4     │ A5
  // text  │ text │ decode wait   │ decode wait   │ decode │ decode
  // image │ text │ wait   visual │ wait   visual │ text   │ decode
  const Trace text_trace = text.recorder->end().trace;
  EXPECT_EQ(text_trace.in(Stage::kPrefillText), kTokenCallTime);
  EXPECT_EQ(text_trace.in(Stage::kScheduleWait), 2 * kVisualCallTime);
  EXPECT_EQ(text_trace.in(Stage::kDecode), 4 * kTokenCallTime);
  EXPECT_EQ(text_trace.time_to_first_token(), kTokenCallTime);
  const Trace image_trace = image.recorder->end().trace;
  EXPECT_EQ(image_trace.in(Stage::kPrefillText), 2 * kTokenCallTime);
  EXPECT_EQ(image_trace.in(Stage::kPrefillVisual), 2 * kVisualCallTime);
  EXPECT_EQ(image_trace.in(Stage::kScheduleWait), 2 * kTokenCallTime);
  EXPECT_EQ(image_trace.in(Stage::kDecode), kTokenCallTime);
  for (const Trace& trace : {text_trace, image_trace}) {
    Duration sum{};
    for (std::size_t i = 0; i < kStageCount; ++i) sum += trace.in(static_cast<Stage>(i));
    EXPECT_EQ(sum, trace.total());
  }
}

TEST_F(EngineTest, AccountsOneCallToTheStageThatEachRequestHasInIt) {
  EngineOptions options;
  options.inter_token = seconds(10);  // nobody hurries
  start({}, options);
  const Asked text = add({.text = "count:4"});
  const Asked image = add({.text = "count:1", .images = {{56, 84}}});  // 6 visual tokens

  run();

  // call  │ 1    │ 2      │ 3      │ 4      │ 5
  // text  │ text │ decode │ decode │ decode │ decode
  // image │ text │ visual │ text   │ decode │
  const Trace text_trace = text.recorder->end().trace;
  EXPECT_EQ(text_trace.in(Stage::kPrefillText), kTokenCallTime);
  EXPECT_EQ(text_trace.in(Stage::kDecode), kVisualCallTime + 3 * kTokenCallTime);
  EXPECT_EQ(text_trace.in(Stage::kScheduleWait), Duration{});
  const Trace image_trace = image.recorder->end().trace;
  EXPECT_EQ(image_trace.in(Stage::kPrefillText), 2 * kTokenCallTime);
  EXPECT_EQ(image_trace.in(Stage::kPrefillVisual), kVisualCallTime);
  EXPECT_EQ(image_trace.in(Stage::kDecode), kTokenCallTime);
  EXPECT_EQ(steps[1].calls[0].n_text_rows, 1);
  EXPECT_EQ(steps[1].calls[0].n_visual_rows, 6);
  EXPECT_EQ(steps[1].calls[1].n_rows(), 0) << "one call has it all";
}

TEST_F(EngineTest, PrefillIsCutToTheObjectiveWhileSomebodyDecodes) {
  EngineOptions options;
  options.inter_token = kTokenCallTime * 2;  // less than a visual call of any size
  FakeOptions fake;
  fake.can_mix = false;
  start(fake, options);
  const Asked image = add({.text = "count:1", .images = {{280, 280}}});  // 100 visual tokens
  run();
  EXPECT_EQ(steps[1].n_visual_rows(), 64) << "nobody waits";
  steps.clear();

  const Asked text = add({.text = "count:120"});
  engine->step();
  const Asked beside = add({.text = "count:1", .images = {{280, 280}}});
  run();

  int n_visual_rows = 0;
  for (const StepReport& step : steps) {
    EXPECT_LE(step.n_visual_rows(), schedule::kFirstSliceRows);
    n_visual_rows += step.n_visual_rows();
  }
  EXPECT_EQ(n_visual_rows, 100);
}

TEST_F(EngineTest, AShortPromptGoesBeforeALongOneThatCameEarlier) {
  EngineOptions options;
  options.n_step_rows = 20;
  start({}, options);
  const Asked longer = add({.text = "count:1 " + std::string(300, 'x')});
  const Asked shorter = add({.text = "count:1"});
  run();

  EXPECT_LT(shorter.recorder->end().trace.total(), longer.recorder->end().trace.total());
}

TEST_F(EngineTest, ALongPromptIsServedWhileShortOnesKeepComing) {
  EngineOptions options;
  options.n_step_rows = 20;  // one short prompt fills it
  start({}, options);
  const Asked longer = add({.text = "count:1 " + std::string(300, 'x')});
  std::vector<Asked> shorter;

  for (unsigned n_steps = 0; longer.recorder->n_ends() == 0; ++n_steps) {
    ASSERT_LT(n_steps, 17 * schedule::kTurnSteps) << "it has 310 rows";
    // None begins like another, for what they share they would not compute.
    shorter.push_back(
        add({.text = "count:1 " + std::to_string(1000 + n_steps * 7) + std::string(20, 'y')}));
    engine->step();
  }
  run();

  for (const Asked& asked : shorter) EXPECT_EQ(asked.recorder->n_ends(), 1);
}

TEST_F(EngineTest, ReportsStepsAndLoad) {
  FakeOptions fake;
  fake.can_mix = false;
  start(fake, {.inter_token = seconds(1)});
  const Asked image = add({.text = "count:1", .images = {{56, 84}}});  // 4 and 2 visual tokens
  const Asked text = add({.text = "count:4"});

  run();

  ASSERT_EQ(steps.size(), 5U);
  EXPECT_EQ(steps[0].n_text_rows(), 2 + 9);
  EXPECT_EQ(steps[0].n_visual_rows(), 0);
  EXPECT_EQ(steps[1].n_text_rows(), 1);
  EXPECT_EQ(steps[1].n_visual_rows(), 4);
  EXPECT_EQ(steps[1].duration, kTokenCallTime + kVisualCallTime);
  EXPECT_EQ(loads[1].n_running_sequences, 2);
  EXPECT_EQ(loads[1].n_kv_cells_used, 11 + 1 + 4);
  EXPECT_EQ(loads.back().n_running_sequences, 0);
  EXPECT_EQ(loads.back().n_kv_cells_used, 0);
}

TEST_F(EngineTest, ATenantWhoHasNothingDoesNotWaitForAnothersAnswerToEnd) {
  FakeOptions fake;
  fake.n_sequences_max = 8;
  start(fake, {.has_several_tenants = true});
  std::vector<Asked> many;
  for (int i = 0; i < 20; ++i) many.push_back(add({.text = "count:100", .tenant = 1}));
  for (int i = 0; i < 5; ++i) engine->step();

  const Asked other = add({.text = "say:hello", .tenant = 2});
  while (other.recorder->n_ends() == 0) engine->step();

  EXPECT_EQ(other.recorder->text(), "hello");
  for (const Asked& one : many) EXPECT_EQ(one.recorder->n_ends(), 0);
  run();
}

}  // namespace
}  // namespace tessera::generate
