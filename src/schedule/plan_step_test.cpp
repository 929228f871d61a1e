#include "schedule/plan_step.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace tessera::schedule {
namespace {

using Ids = std::vector<SequenceId>;
using Slices = std::vector<Slice>;

SequenceView view_of(int id, Phase phase, int n_left) {
  SequenceView view;
  view.id = SequenceId{id};
  view.arrival = static_cast<std::uint64_t>(id);
  view.phase = phase;
  view.n_left = n_left;
  view.n_prompt_left = n_left;
  return view;
}
SequenceView decoding(int id) {
  return view_of(id, Phase::kDecode, 1);
}
SequenceView text(int id, int n_left) {
  return view_of(id, Phase::kPrefillText, n_left);
}
SequenceView visual(int id, int n_left, bool non_causal = false) {
  SequenceView view = view_of(id, Phase::kPrefillVisual, n_left);
  view.non_causal = non_causal;
  return view;
}
/// Of a step that does not go by age.
StepPlan plan(const std::vector<SequenceView>& views, StepBudget budget) {
  return plan_step(views, budget, 1);
}

/// For models that take one kind of rows in a call.
StepBudget two_calls(int n_rows, int n_visual_rows) {
  return {false, n_rows, n_visual_rows, 64};
}
StepBudget one_call(int n_rows, int n_rows_max = 64) {
  return {true, n_rows, 1, n_rows_max};
}

TEST(PlanStep, IsEmptyWhenNothingRuns) {
  EXPECT_TRUE(plan({}, two_calls(8, 8)).empty());
  EXPECT_TRUE(plan({}, one_call(8)).empty());
}

TEST(PlanStep, PrefersDecodeRowsOverPrefill) {
  const StepPlan result = plan({text(1, 10), decoding(2), decoding(3)}, two_calls(8, 8));

  EXPECT_EQ(result.first.decode, (Ids{{2}, {3}}));
  EXPECT_EQ(result.first.prefill, (Slices{{{1}, 6}}));
}

TEST(PlanStep, FillsTextPrefillWithTheLeastPromptFirst) {
  // left of the prompt:                     1           2           3
  std::vector<SequenceView> views = {text(1, 5), text(2, 3), text(3, 4)};
  views[0].n_prompt_left = 1000;
  views[1].n_prompt_left = 100;
  views[2].n_prompt_left = 10;

  EXPECT_EQ(plan(views, two_calls(6, 8)).first.prefill, (Slices{{{3}, 4}, {{2}, 2}}));
}

TEST(PlanStep, PromptsOfOneSizeGoOldestFirst) {
  EXPECT_EQ(plan({text(3, 5), text(1, 7), text(2, 4)}, two_calls(10, 8)).first.prefill,
            (Slices{{{1}, 7}, {{2}, 3}}));
}

TEST(PlanStep, TenantsHaveEqualPartsOfTheRows) {
  std::vector<SequenceView> views = {text(1, 30), text(2, 30), text(3, 900), visual(4, 3)};
  views[2].tenant = TenantId{7};
  views[3].tenant = TenantId{8};

  // A third is 20 rows. The last needs 3; what it leaves goes to the one with the least left.
  EXPECT_EQ(plan(views, one_call(60)).first.prefill,
            (Slices{{{4}, 3}, {{1}, 30}, {{2}, 7}, {{3}, 20}}));
}

// Four rows are the least that a step has, and more keys may wait than that.
TEST(PlanStep, NoTenantIsAlwaysWithoutRows) {
  for (const auto& [n_rows, n_tenants] :
       {std::pair{4, 3}, {5, 4}, {8, 5}, {9, 7}, {10, 6}, {4, 9}, {1, 3}}) {
    std::vector<SequenceView> views;
    for (int i = 0; i < n_tenants; ++i) {
      views.push_back(text(i, i + 1 == n_tenants ? 4000 : 60));
      views.back().tenant = TenantId{static_cast<std::uint32_t>(i)};
    }
    std::map<SequenceId, int> n_served;
    constexpr int kRounds = 100;
    for (int step = 0; step < kRounds * n_tenants; ++step) {
      const auto result = plan_step(views, one_call(n_rows), static_cast<std::uint64_t>(step));
      if (static_cast<std::uint64_t>(step) % kTurnSteps == 0) continue;  // by age
      for (const Slice& slice : result.first.prefill) n_served[slice.sequence] += slice.n_rows;
    }
    // Seven eighths of its part, and a little that the steps by age take out of step.
    for (int i = 0; i < n_tenants; ++i) {
      EXPECT_GE(n_served[SequenceId{i}], n_rows * kRounds * 6 / 8) << n_rows << " " << n_tenants;
    }
  }
}

TEST(PlanStep, ATenantByItselfHasAllRows) {
  std::vector<SequenceView> views = {text(1, 900)};
  views[0].tenant = TenantId{7};

  EXPECT_EQ(plan(views, one_call(60)).first.prefill, (Slices{{{1}, 60}}));
}

TEST(PlanStep, EveryEighthStepGoesByAge) {
  const std::vector<SequenceView> views = {text(1, 1000), text(2, 8)};
  for (std::uint64_t n_steps = 0; n_steps < 3 * kTurnSteps; ++n_steps) {
    const int expected = n_steps % kTurnSteps == 0 ? 1 : 2;

    EXPECT_EQ(plan_step(views, two_calls(8, 8), n_steps).first.prefill.front().sequence.value,
              expected);
  }
}

TEST(PlanStep, AShortImageGoesBeforeALongOne) {
  EXPECT_EQ(plan({visual(1, 4000), visual(2, 60)}, two_calls(4, 64)).second.prefill,
            (Slices{{{2}, 60}, {{1}, 4}}));
}

TEST(PlanStep, RunsVisualRowsInACallOfTheirOwn) {
  const StepPlan result = plan({visual(1, 5), visual(2, 9), text(3, 4)}, two_calls(4, 8));

  EXPECT_EQ(result.first.prefill, (Slices{{{3}, 4}}));
  EXPECT_EQ(result.second.prefill, (Slices{{{1}, 5}, {{2}, 3}}));
}

TEST(PlanStep, RunsANonCausalSegmentAloneAndWholeAboveTheBudget) {
  const StepPlan result = plan({visual(1, 20, true), visual(2, 30)}, two_calls(4, 8));

  EXPECT_EQ(result.second.prefill, (Slices{{{1}, 20}}));
}

TEST(PlanStep, LetsANonCausalSegmentWaitForVisualRowsBeforeIt) {
  const StepPlan result = plan({visual(1, 2), visual(2, 4, true), visual(3, 9)}, two_calls(4, 8));

  EXPECT_EQ(result.second.prefill, (Slices{{{1}, 2}, {{3}, 6}}));
}

TEST(PlanStep, OneCallTakesRowsOfBothKindsByWhatIsLeft) {
  const StepPlan result =
      plan({visual(1, 5), decoding(4), visual(2, 900), text(3, 40)}, one_call(60));

  EXPECT_EQ(result.first.decode, (Ids{{4}}));
  EXPECT_EQ(result.first.prefill, (Slices{{{1}, 5}, {{3}, 40}, {{2}, 14}}));
  EXPECT_TRUE(result.second.empty());
}

TEST(PlanStep, ANonCausalSegmentGoesBesideWhatDecodesAndNoOtherPrompt) {
  const StepPlan result =
      plan({visual(1, 20, true), decoding(2), text(3, 30), visual(4, 40)}, one_call(8));

  EXPECT_EQ(result.first, (CallPlan{{{2}}, {{{1}, 20}}}));
  EXPECT_TRUE(result.second.empty());
}

TEST(PlanStep, ANonCausalSegmentHasACallToItselfWhereItDoesNotFitBesideWhatDecodes) {
  const StepPlan result = plan({visual(1, 64, true), decoding(2), decoding(3)}, one_call(8));

  EXPECT_EQ(result.first, (CallPlan{{{2}, {3}}, {}}));
  EXPECT_EQ(result.second, (CallPlan{{}, {{{1}, 64}}}));
}

TEST(PlanStep, ANonCausalSegmentWaitsForPromptsBeforeIt) {
  EXPECT_EQ(plan({text(1, 2), visual(2, 4, true), visual(3, 9)}, one_call(8)).first.prefill,
            (Slices{{{1}, 2}, {{3}, 6}}));
}

TEST(PlanStep, ServesTheOldestWhenMoreDecodeThanFit) {
  const StepPlan result =
      plan({decoding(3), decoding(1), decoding(2), text(0, 4)}, two_calls(2, 8));

  EXPECT_EQ(result.first.decode, (Ids{{1}, {2}}));
  EXPECT_TRUE(result.first.prefill.empty());
}

TEST(PlanStep, BreaksTiesOfArrivalById) {
  std::vector<SequenceView> views = {text(2, 4), text(1, 4)};
  for (SequenceView& view : views) view.arrival = 7;

  EXPECT_EQ(plan(views, two_calls(6, 8)).first.prefill, (Slices{{{1}, 4}, {{2}, 2}}));
}

// --- properties over whole lives ---------------------------------------------------------------

/// A sequence as the engine would run it: segments, the last one text, then output tokens.
struct Life {
  struct Piece {
    Phase phase;
    int n_left;
    bool non_causal;
  };
  std::vector<Piece> pieces;  // front = current
  std::uint64_t arrival = 0;
  TenantId tenant;

  int n_prompt_left() const {
    int n_left = 0;
    for (const Piece& piece : pieces) n_left += piece.phase == Phase::kDecode ? 0 : piece.n_left;
    return n_left;
  }
};

Life arbitrary_life(std::uint64_t arrival, int n_rows_max) {
  Life life;
  life.arrival = arrival;
  life.tenant.value = *rc::gen::inRange(0U, 3U);
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    if (*rc::gen::arbitrary<bool>()) {
      life.pieces.push_back({Phase::kPrefillText, *rc::gen::inRange(1, 20), false});
    } else if (*rc::gen::arbitrary<bool>()) {
      life.pieces.push_back({Phase::kPrefillVisual, *rc::gen::inRange(1, 60), false});
    } else {
      life.pieces.push_back({Phase::kPrefillVisual, *rc::gen::inRange(1, n_rows_max + 1), true});
    }
  }
  life.pieces.push_back({Phase::kPrefillText, *rc::gen::inRange(1, 20), false});
  for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
    life.pieces.push_back({Phase::kDecode, 1, false});
  }
  return life;
}

using Lives = std::map<SequenceId, Life>;

std::vector<SequenceView> view(const Lives& lives) {
  std::vector<SequenceView> views;
  for (const auto& [id, life] : lives) {
    const Life::Piece& piece = life.pieces.front();
    views.push_back({id, life.tenant, life.arrival, piece.phase, piece.n_left, piece.non_causal,
                     life.n_prompt_left()});
  }
  return views;
}

void advance(Lives& lives, SequenceId id, int n_rows) {
  Life::Piece& piece = lives.at(id).pieces.front();
  RC_ASSERT(n_rows >= 1 && n_rows <= piece.n_left);
  RC_ASSERT(!piece.non_causal || n_rows == piece.n_left);
  piece.n_left -= n_rows;
  if (piece.n_left > 0) return;
  lives.at(id).pieces.erase(lives.at(id).pieces.begin());
  if (lives.at(id).pieces.empty()) lives.erase(id);
}

void advance(Lives& lives, const StepPlan& plan) {
  for (const CallPlan* call : {&plan.first, &plan.second}) {
    for (const SequenceId id : call->decode) {
      RC_ASSERT(lives.at(id).pieces.front().phase == Phase::kDecode);
      advance(lives, id, 1);
    }
    for (const Slice& slice : call->prefill) advance(lives, slice.sequence, slice.n_rows);
  }
}

void check(const CallPlan& call, int n_rows_budget, const StepBudget& budget, const Lives& lives,
           std::set<SequenceId>& served) {
  int n_rows = static_cast<int>(call.decode.size());
  bool whole = false;
  for (const SequenceId id : call.decode) RC_ASSERT(served.insert(id).second);
  for (const Slice& slice : call.prefill) {
    const Life::Piece& piece = lives.at(slice.sequence).pieces.front();
    RC_ASSERT(served.insert(slice.sequence).second);
    n_rows += slice.n_rows;
    whole = whole || piece.non_causal;
  }
  RC_ASSERT(!whole || call.prefill.size() == 1);
  RC_ASSERT(n_rows <= (whole ? budget.n_rows_max : n_rows_budget));
}

void check(const StepPlan& result, const Lives& lives, const StepBudget& budget) {
  RC_ASSERT(result.empty() == lives.empty());
  std::set<SequenceId> served;
  check(result.first, budget.n_rows, budget, lives, served);
  check(result.second, budget.mixes ? 0 : budget.n_visual_rows, budget, lives, served);
  const auto is_visual = [&](const Slice& slice) {
    return lives.at(slice.sequence).pieces.front().phase == Phase::kPrefillVisual;
  };
  RC_ASSERT(result.second.decode.empty());
  RC_ASSERT(std::ranges::all_of(result.second.prefill, is_visual));
  RC_ASSERT(budget.mixes || std::ranges::none_of(result.first.prefill, is_visual));
}

// Long prompts must neither starve nor hold up short ones, however many there are.
TEST(PlanStep, ShortPromptsAndLongOnesTakeTurns) {
  Lives lives;
  for (const int id : {0, 1, 2}) {
    lives[SequenceId{id}] = {
        {{Phase::kPrefillText, 100'000, false}}, static_cast<std::uint64_t>(id), {}};
  }
  std::int32_t n_arrived = 2;
  int n_steps_max = 0;  // that a short one took
  std::map<SequenceId, int> n_steps;
  for (std::uint64_t step = 0; step < 4000; ++step) {
    if (step % 2 == 0) {
      lives[SequenceId{++n_arrived}] = {
          {{Phase::kPrefillText, 8, false}}, static_cast<std::uint64_t>(n_arrived), {}};
    }
    for (const auto& [id, life] : lives) {
      n_steps_max = std::max(n_steps_max, id.value <= 2 ? 0 : ++n_steps[id]);
    }
    advance(lives, plan_step(view(lives), two_calls(8, 8), step));
  }

  EXPECT_LE(n_steps_max, 3);
  EXPECT_LE(lives.at(SequenceId{0}).pieces.front().n_left, 100'000 - 4000 / 8 * 8);
}

RC_GTEST_PROP(PlanStep, KeepsTheBudgetMakesProgressAndFinishesEverySequence, ()) {
  const int n_rows_max = *rc::gen::inRange(1, 65);
  const StepBudget budget{*rc::gen::arbitrary<bool>(), *rc::gen::inRange(1, n_rows_max + 1),
                          *rc::gen::inRange(1, n_rows_max + 1), n_rows_max};
  Lives lives;
  int n_to_come = *rc::gen::inRange(1, 12);
  std::int32_t n_arrived = 0;

  // Each step runs at least one row, so this ends; a sequence that starved would hang the test.
  for (std::uint64_t step = 0; n_to_come > 0 || !lives.empty(); ++step) {
    if (n_to_come > 0 && (lives.empty() || *rc::gen::arbitrary<bool>())) {
      lives[SequenceId{n_arrived}] =
          arbitrary_life(static_cast<std::uint64_t>(n_arrived), n_rows_max);
      ++n_arrived;
      --n_to_come;
    }
    const StepPlan result = plan_step(view(lives), budget, step);
    check(result, lives, budget);
    advance(lives, result);
  }
}

RC_GTEST_PROP(PlanStep, GivesTheSamePlanForTheSameSequencesInAnyOrder, ()) {
  Lives lives;
  for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
    lives[SequenceId{i}] = arbitrary_life(static_cast<std::uint64_t>(*rc::gen::inRange(0, 6)), 40);
  }
  const StepBudget budget{*rc::gen::arbitrary<bool>(), *rc::gen::inRange(1, 41),
                          *rc::gen::inRange(1, 41), 40};
  std::vector<SequenceView> views = view(lives);
  const auto n_steps = *rc::gen::inRange<std::uint64_t>(0, 16);
  const StepPlan expected = plan_step(views, budget, n_steps);

  std::reverse(views.begin(), views.end());

  RC_ASSERT(plan_step(views, budget, n_steps) == expected);
}

RC_GTEST_PROP(PlanStep, NamesOfTenantsDoNotMatter, ()) {
  Lives lives;
  for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
    lives[SequenceId{i}] = arbitrary_life(static_cast<std::uint64_t>(i), 40);
  }
  const StepBudget budget{*rc::gen::arbitrary<bool>(), *rc::gen::inRange(1, 41),
                          *rc::gen::inRange(1, 41), 40};
  std::vector<SequenceView> views = view(lives);
  const StepPlan expected = plan_step(views, budget, 1);

  for (SequenceView& view : views) view.tenant.value = 100 - view.tenant.value * 7;

  RC_ASSERT(plan_step(views, budget, 1) == expected);
}

// New sequences that keep coming must not delay an old one without end. What decodes has rows too:
// where a step has no room for prefill beside it, that step is not one of those that go by age.
RC_GTEST_PROP(PlanStep, AnOldSequenceEndsWhileNewOnesKeepComing, ()) {
  constexpr int kNewOnes = 8;
  const StepBudget budget{*rc::gen::arbitrary<bool>(), *rc::gen::inRange(1, 5) + 4 + kNewOnes,
                          *rc::gen::inRange(1, 5), 60};
  Lives lives;
  std::int32_t n_arrived = 0;
  const auto arrive = [&] {
    lives[SequenceId{n_arrived}] = arbitrary_life(static_cast<std::uint64_t>(n_arrived), 60);
    ++n_arrived;
  };
  for (int i = 0; i < 4; ++i) arrive();
  std::uint64_t n_rows = 0;
  for (const auto& [id, life] : lives) {
    for (const Life::Piece& piece : life.pieces) n_rows += static_cast<std::uint64_t>(piece.n_left);
  }

  for (std::uint64_t step = 0; !lives.empty() && lives.begin()->first.value < 4; ++step) {
    RC_ASSERT(step <= kTurnSteps * n_rows);
    if (lives.size() < 4 + kNewOnes) arrive();
    advance(lives, plan_step(view(lives), budget, step));
  }
}

}  // namespace
}  // namespace tessera::schedule
