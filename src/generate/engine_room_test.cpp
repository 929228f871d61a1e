// What the engine does when those that run need more KV cells than there are.
#include <string>

#include "generate/test_engine.h"

namespace tessera::generate {
namespace {

class EngineRoomTest : public EngineTest {
 protected:
  /// Two answers of a hundred tokens start in it, and one of them gives way.
  static FakeOptions small() {
    FakeOptions fake;
    fake.context_length = 200;
    fake.n_kv_cells = 200;
    return fake;
  }

  Asked add_long(char letter, const std::vector<ImageSize>& images = {}, int n_choices = 1,
                 std::uint32_t tenant = 0) {
    return add({.text = std::string(1, letter) + " count:100",
                .images = images,
                .n_choices = n_choices,
                .max_output_tokens = 110,
                .tenant = tenant});
  }

  /// Until somebody is set aside.
  void run_until_full() {
    for (int n_steps = 0; engine->stats().load.n_set_aside == 0; ++n_steps) {
      ASSERT_LT(n_steps, 1000);
      engine->step();
    }
  }

  void on_set_aside(bool copied) override { ++(copied ? n_copied : n_dropped); }

  static std::string hundred() {
    std::string text;
    for (int i = 0; i < 100; ++i) text += static_cast<char>('a' + i % 26);
    return text;
  }

  int n_copied = 0;
  int n_dropped = 0;
};

TEST_F(EngineRoomTest, OneGivesWayAndGoesOnWhereItWas) {
  start(small());
  const Asked oldest = add_long('a');
  const Asked youngest = add_long('b');

  run_until_full();
  EXPECT_TRUE(youngest.recorder->events().size() > 30);
  EXPECT_EQ(engine->stats().load.n_running_sequences, 2);
  run();

  EXPECT_EQ(oldest.recorder->text(), hundred());
  EXPECT_EQ(youngest.recorder->text(), hundred());
  EXPECT_EQ(n_copied, 1);
  EXPECT_EQ(n_dropped, 0);
  EXPECT_EQ(youngest.recorder->end().trace.counts.n_output_tokens, 101);
}

TEST_F(EngineRoomTest, WhatCannotBeCopiedIsComputedAgain) {
  start(small());
  control->fail(Call::kSetAside, 1, Effect::kError);
  const Asked oldest = add_long('a');
  const Asked youngest = add_long('b');

  run();

  EXPECT_EQ(oldest.recorder->text(), hundred());
  EXPECT_EQ(youngest.recorder->text(), hundred());
  EXPECT_EQ(n_dropped, 1);
  EXPECT_EQ(youngest.recorder->end().trace.counts.n_cached_tokens, 0) << "it has begun once";
}

TEST_F(EngineRoomTest, FeaturesThatAreUsedAreNotThereAgain) {
  start(small());
  control->fail(Call::kSetAside, 1, Effect::kError);
  const Asked oldest = add_long('a');
  const Asked youngest = add_long('b', {{56, 56}});

  run();

  EXPECT_EQ(oldest.recorder->text(), hundred());
  EXPECT_EQ(youngest.recorder->reason(), "kv_cache_full");
  EXPECT_GT(youngest.recorder->end().error->retry_after.count(), 0);
}

TEST_F(EngineRoomTest, ACopyThatIsLostEndsOneRequest) {
  start(small());
  control->fail(Call::kBringBack, 1, Effect::kError);
  const Asked oldest = add_long('a');
  const Asked youngest = add_long('b');

  run();

  EXPECT_EQ(oldest.recorder->text(), hundred());
  EXPECT_EQ(youngest.recorder->reason(), "kv_cache_full");
}

TEST_F(EngineRoomTest, AllChoicesGiveWayTogether) {
  FakeOptions fake = small();
  fake.n_kv_cells = 300;
  start(fake);
  const Asked oldest = add_long('a');
  const Asked two = add_long('b', {{56, 56}}, 2);

  run_until_full();
  const std::size_t n_before = two.recorder->events().size();
  engine->step();
  EXPECT_EQ(two.recorder->events().size(), n_before);
  run();

  EXPECT_EQ(oldest.recorder->text(), hundred());
  EXPECT_EQ(two.recorder->text(0), hundred());
  EXPECT_EQ(two.recorder->text(1), hundred());
  EXPECT_EQ(n_copied, 1);
}

TEST_F(EngineRoomTest, KeptPromptsGoBeforeAnybodyGivesWay) {
  FakeOptions fake = small();
  fake.n_kv_cells = 240;
  start(fake, {.n_kept_prefixes = 2});
  add({.text = std::string(70, 'x'), .max_output_tokens = 1});
  run();
  ASSERT_GT(engine->stats().load.n_kv_cells_kept, 70);
  const Asked one = add_long('a');
  const Asked two = add_long('b');

  run();

  EXPECT_EQ(one.recorder->text(), hundred());
  EXPECT_EQ(two.recorder->text(), hundred());
  EXPECT_EQ(n_copied, 0);
}

TEST_F(EngineRoomTest, NobodyStartsOnTheRoomOfOneThatIsSetAside) {
  start(small());
  add_long('a');
  const Asked youngest = add_long('b');
  run_until_full();
  const Asked late = add({.text = "say:late", .max_output_tokens = 8});
  engine->step();
  EXPECT_EQ(engine->stats().load.n_waiting_requests, 1U);

  run();
  EXPECT_EQ(youngest.recorder->text(), hundred());
  EXPECT_EQ(late.recorder->text(), "late");
}

TEST_F(EngineRoomTest, ItEndsWhenItsClientGoesOrItsTimeIsUp) {
  start(small());
  const Asked oldest = add_long('a');
  Asked youngest = add_long('b');
  run_until_full();

  youngest.stop.request_stop();
  engine->step();

  EXPECT_EQ(youngest.recorder->reason(), "cancelled");
  EXPECT_EQ(engine->stats().load.n_set_aside, 0);
  run();
  EXPECT_EQ(oldest.recorder->text(), hundred());
}

TEST_F(EngineRoomTest, ItEndsWithTheProcessOfTheModel) {
  start(small());
  const Asked oldest = add_long('a');
  const Asked youngest = add_long('b');
  run_until_full();
  control->fail(Call::kDecodeTokens, control->n_calls(Call::kDecodeTokens) + 1, Effect::kLost);
  run();

  EXPECT_EQ(oldest.recorder->reason(), "engine_lost");
  EXPECT_EQ(youngest.recorder->reason(), "engine_lost");
}

TEST_F(EngineRoomTest, AProcessThatDiesOverACopyEndsThemAll) {
  for (const Call call : {Call::kSetAside, Call::kBringBack}) {
    control = std::make_shared<FakeControl>();
    control->fail(call, 1, Effect::kLost);
    start(small());
    const Asked oldest = add_long('a');
    const Asked youngest = add_long('b', {{56, 56}});

    run();

    EXPECT_EQ(youngest.recorder->reason(), "engine_lost");
    EXPECT_EQ(oldest.recorder->n_ends(), 1);
  }
}

TEST_F(EngineRoomTest, TheTenantThatHasMostGivesWay) {
  FakeOptions fake = small();
  fake.n_kv_cells = 300;
  start(fake);
  const Asked a = add_long('a', {}, 1, 1);
  const Asked other = add_long('b', {}, 1, 2);
  const Asked c = add_long('c', {}, 1, 1);
  run_until_full();
  const auto n = [](const Asked& asked) { return asked.recorder->tokens().size(); };
  const std::size_t n_other = n(other);
  const std::size_t n_c = n(c);
  engine->step();

  EXPECT_GT(n(other), n_other);
  EXPECT_EQ(n(c), n_c);
  run();
  EXPECT_EQ(a.recorder->text(), hundred());
  EXPECT_EQ(c.recorder->text(), hundred());
}

}  // namespace
}  // namespace tessera::generate
