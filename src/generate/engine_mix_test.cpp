// Whole mixes of requests: who else is in the batch, and how prompts are sliced, changes nothing;
// and whatever call fails, everybody gets one terminal event.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "generate/engine.h"
#include "generate/test_requests.h"
#include "runtime/fake/fake_runtime.h"

namespace tessera::generate {
namespace {

using runtime::fake::Call;
using runtime::fake::Effect;
using runtime::fake::FakeControl;
using runtime::fake::FakeOptions;

using Answers = std::vector<std::vector<TokenId>>;  // [request] over its choices

struct Outcome final : EngineObserver {
  void on_set_aside(bool /*copied*/) override { ++n_set_aside; }

  int n_set_aside = 0;
  std::vector<Asked> asked;
  int n_violations = 0;
  std::string last_violation;
  int n_calls = 0;  // of the kind that was watched
  EngineStats stats;
};

std::vector<TokenId> all_tokens(const Asked& asked, int n_choices) {
  std::vector<TokenId> ids;
  for (int choice = 0; choice < n_choices; ++choice) {
    for (const TokenId id : asked.recorder->tokens(choice)) ids.push_back(id);
    ids.push_back(-1);
  }
  return ids;
}

struct Fault {
  Call call = Call::kSample;
  int nth = 0;  // 0 = none
  Effect effect = Effect::kError;
};

/// Runs the asks together; ask i arrives after step `arrivals[i]` (0 = before the first).
Outcome run(FakeOptions fake, const EngineOptions& options, const std::vector<Ask>& asks,
            const std::vector<int>& arrivals, const Fault& fault = {}) {
  constexpr int kStepsMax = 100'000;  // far above what these requests need
  const auto control = std::make_shared<FakeControl>();
  fake.control = control;
  control->fail(fault.call, fault.nth, fault.effect);
  auto loaded = std::move(runtime::fake::load(fake)).value();
  const SteadyClock clock;
  Outcome outcome;
  Engine engine(std::move(loaded.executor), loaded.model, options, clock, &outcome);
  outcome.asked.resize(asks.size());
  std::size_t n_added = 0;
  for (int step = 0; (n_added < asks.size() || !engine.idle()) && step < kStepsMax; ++step) {
    while (n_added < asks.size() && (arrivals[n_added] <= step || engine.idle())) {
      engine.add(make_request(*loaded.model, loaded.encoder.get(), asks[n_added],
                              outcome.asked[n_added], clock.now()));
      ++n_added;
    }
    engine.step();
  }
  TSR_CHECK(engine.idle());
  outcome.stats = engine.stats();
  outcome.n_violations = control->n_violations();
  outcome.last_violation = control->last_violation();
  outcome.n_calls = control->n_calls(fault.call);
  return outcome;
}

Ask arbitrary_ask() {
  Ask ask;
  ask.text = *rc::gen::resize(30, rc::gen::container<std::string>(rc::gen::inRange('a', 'z')));
  const int script = *rc::gen::inRange(0, 4);
  if (script == 0) ask.text += "say:some words";
  if (script == 1) ask.text += "count:" + std::to_string(*rc::gen::inRange(0, 20));
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    ask.images.push_back({*rc::gen::inRange(1, 150), *rc::gen::inRange(1, 150)});
  }
  ask.n_choices = *rc::gen::inRange(1, 4);
  ask.max_output_tokens = *rc::gen::inRange(1, 30);
  ask.temperature = *rc::gen::element(0.F, 1.F);
  if (*rc::gen::arbitrary<bool>()) ask.stop = {"ord", "fg"};
  return ask;
}

FakeOptions arbitrary_model() {
  FakeOptions fake;
  fake.uses_mrope = *rc::gen::arbitrary<bool>();
  fake.non_causal_images = *rc::gen::arbitrary<bool>();
  fake.can_mix = *rc::gen::arbitrary<bool>();
  fake.tile_side = *rc::gen::element(0, 60);
  fake.n_rows_max = *rc::gen::inRange(36, 80);  // the largest segment has 6×6 cells
  fake.n_sequences_max = *rc::gen::inRange(3, 12);
  fake.context_length = 400;
  fake.n_kv_cells = *rc::gen::inRange(1200, 3000);
  return fake;
}

RC_GTEST_PROP(EngineMix, AnswersAreTheSameAloneAndAmongOthers, ()) {
  const FakeOptions fake = arbitrary_model();
  EngineOptions options;
  options.n_step_rows = *rc::gen::inRange(1, 80);
  std::vector<Ask> asks;
  std::vector<int> arrivals;
  for (int i = *rc::gen::inRange(1, 12); i > 0; --i) {
    asks.push_back(arbitrary_ask());
    arrivals.push_back(*rc::gen::inRange(0, 10) + (arrivals.empty() ? 0 : arrivals.back()));
  }

  const Outcome together = run(fake, options, asks, arrivals);

  RC_ASSERT(together.last_violation == "");
  RC_ASSERT(together.stats.load.n_kv_cells_used == 0);
  RC_ASSERT(together.stats.n_bugs == 0U);
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const Outcome alone = run(fake, {}, {asks[i]}, {0});
    RC_ASSERT(together.asked[i].recorder->reason() == alone.asked[0].recorder->reason());
    RC_ASSERT(all_tokens(together.asked[i], asks[i].n_choices) ==
              all_tokens(alone.asked[0], asks[i].n_choices));
  }
}

// A cache that holds two of them at most; copies fail now and then.
TEST(EngineMix, AnswersAreTheSameWhoeverGivesWay) {
  int n_set_aside = 0;
  std::mt19937 random(1);  // NOLINT(bugprone-random-generator-seed): the same mixes each time
  const auto between = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  for (int mix = 0; mix < 30; ++mix) {
    FakeOptions fake;
    fake.uses_mrope = between(0, 1) == 1;
    fake.can_mix = between(0, 1) == 1;
    fake.can_share = between(0, 3) > 0;
    fake.n_sequences_max = between(3, 8);
    fake.context_length = 200;
    fake.n_kv_cells = between(200, 260);
    EngineOptions options;
    options.n_step_rows = between(1, 80);
    options.n_kept_prefixes = between(0, 2);
    std::vector<Ask> asks;
    std::vector<int> arrivals;
    for (int i = between(2, 6); i > 0; --i) {
      Ask ask{.text = std::string(static_cast<std::size_t>(between(0, 40)), 'x') + "count:120"};
      if (between(0, 2) == 0) ask.images.push_back({56, 28 * between(1, 3)});
      ask.max_output_tokens = between(90, 130);
      ask.tenant = static_cast<std::uint32_t>(between(1, 2));
      asks.push_back(ask);
      arrivals.push_back(10 * i);
    }
    std::ranges::sort(arrivals);

    const Outcome together =
        run(fake, options, asks, arrivals, {Call::kSetAside, between(0, 4), Effect::kError});

    n_set_aside += together.n_set_aside;
    EXPECT_EQ(together.last_violation, "") << "mix " << mix;
    EXPECT_EQ(together.stats.n_bugs, 0U) << "mix " << mix;
    for (std::size_t i = 0; i < asks.size(); ++i) {
      const Outcome alone = run(fake, {}, {asks[i]}, {0});
      // Its features were used, and the copy failed.
      if (together.asked[i].recorder->reason() == "kv_cache_full") {
        EXPECT_FALSE(asks[i].images.empty()) << "mix " << mix;
        continue;
      }
      EXPECT_EQ(together.asked[i].recorder->reason(), alone.asked[0].recorder->reason());
      EXPECT_EQ(all_tokens(together.asked[i], 1), all_tokens(alone.asked[0], 1)) << "mix " << mix;
    }
  }
  EXPECT_GT(n_set_aside, 15);
}

TEST(EngineMix, OneRequestAmongThirtyOthersGivesTheSameTokens) {
  FakeOptions fake;
  fake.uses_mrope = true;
  fake.n_sequences_max = 8;
  const Ask ask{.text = "what is on the table?", .images = {{100, 60}}};
  const auto expected = run(fake, {}, {ask}, {0}).asked[0].recorder->tokens();
  ASSERT_FALSE(expected.empty());

  for (const int n_rows : {1, 3, 17, 64}) {
    EngineOptions options;
    options.n_step_rows = n_rows;
    std::vector<Ask> asks;
    std::vector<int> arrivals;
    for (int i = 0; i < 31; ++i) {
      asks.push_back(i == 15 ? ask
                             : Ask{.text = "count:" + std::to_string(i), .images = {{60, 30}}});
      arrivals.push_back(i);
    }

    const Outcome outcome = run(fake, options, asks, arrivals);

    EXPECT_EQ(outcome.asked[15].recorder->tokens(), expected) << n_rows << " rows a call";
    EXPECT_EQ(outcome.last_violation, "");
  }
}

struct FaultKind {
  Call call;
  Effect effect;
  bool can_mix = true;
};

class EngineFault : public testing::TestWithParam<FaultKind> {};

TEST_P(EngineFault, EveryRequestEndsOnceWhicheverCallFails) {
  FakeOptions fake;
  fake.n_sequences_max = 4;
  fake.tile_side = 60;
  fake.can_mix = GetParam().can_mix;
  EngineOptions options;
  options.n_step_rows = 6;
  const std::vector<Ask> asks = {{.text = "say:words", .images = {{100, 60}}},
                                 {.text = "count:5", .n_choices = 3},
                                 {.text = "a hash"},
                                 {.text = "more", .images = {{30, 30}, {28, 90}}, .n_choices = 2}};
  const std::vector<int> arrivals = {0, 1, 2, 6};
  const Outcome without = run(fake, options, asks, arrivals);

  int n_hit = 0;
  for (int nth = 1;; ++nth) {
    const Outcome outcome =
        run(fake, options, asks, arrivals, {GetParam().call, nth, GetParam().effect});
    EXPECT_EQ(outcome.n_violations, 0) << "call " << nth << ": " << outcome.last_violation;
    EXPECT_EQ(outcome.stats.load.n_kv_cells_used, 0) << "call " << nth;
    int n_failed = 0;
    for (std::size_t i = 0; i < asks.size(); ++i) {
      ASSERT_EQ(outcome.asked[i].recorder->n_ends(), 1) << "call " << nth << ", request " << i;
      if (outcome.asked[i].recorder->end().error) {
        ++n_failed;
        continue;
      }
      EXPECT_EQ(all_tokens(outcome.asked[i], asks[i].n_choices),
                all_tokens(without.asked[i], asks[i].n_choices))
          << "call " << nth << ", request " << i;
    }
    if (outcome.n_calls < nth) break;  // none failed
    EXPECT_GE(n_failed, 1) << "call " << nth;
    ++n_hit;
  }
  EXPECT_GE(n_hit, 4);
}

INSTANTIATE_TEST_SUITE_P(EveryCall, EngineFault,
                         testing::Values(FaultKind{Call::kDecodeVisual, Effect::kNoKvSlot, false},
                                         FaultKind{Call::kDecodeVisual, Effect::kFatal, false},
                                         FaultKind{Call::kDecodeTokens, Effect::kNoKvSlot},
                                         FaultKind{Call::kDecodeTokens, Effect::kAborted},
                                         FaultKind{Call::kDecodeTokens, Effect::kInvalidBatch},
                                         FaultKind{Call::kDecodeTokens, Effect::kFatal},
                                         FaultKind{Call::kDecodeVisual, Effect::kNoKvSlot},
                                         FaultKind{Call::kDecodeVisual, Effect::kAborted},
                                         FaultKind{Call::kDecodeVisual, Effect::kInvalidBatch},
                                         FaultKind{Call::kDecodeVisual, Effect::kFatal},
                                         FaultKind{Call::kDecodeTokens, Effect::kLost},
                                         FaultKind{Call::kDecodeVisual, Effect::kLost},
                                         FaultKind{Call::kMakeSampler, Effect::kError},
                                         FaultKind{Call::kSample, Effect::kError}),
                         [](const testing::TestParamInfo<FaultKind>& info) {
                           return "Call" + std::to_string(static_cast<int>(info.param.call)) +
                                  "Effect" + std::to_string(static_cast<int>(info.param.effect)) +
                                  (info.param.can_mix ? "" : "InTwoCalls");
                         });

}  // namespace
}  // namespace tessera::generate
