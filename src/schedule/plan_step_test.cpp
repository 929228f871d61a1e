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
StepPlan plan(const std::vector<SequenceView>& views, StepBudget budget) {
  return plan_step(views, budget);
}

TEST(PlanStep, IsEmptyWhenNothingRuns) {
  EXPECT_TRUE(plan({}, {8, 8, 8}).empty());
}

TEST(PlanStep, PrefersDecodeRowsOverPrefill) {
  const StepPlan result = plan({text(1, 10), decoding(2), decoding(3)}, {8, 8, 64});

  EXPECT_EQ(result.decode, (Ids{{2}, {3}}));
  EXPECT_EQ(result.text, (Slices{{{1}, 6}}));
}

TEST(PlanStep, FillsTextPrefillWithTheLeastPromptFirst) {
  // left of the prompt:                     1           2           3
  std::vector<SequenceView> views = {text(1, 5), text(2, 3), text(3, 4)};
  views[0].n_prompt_left = 1000;
  views[1].n_prompt_left = 100;
  views[2].n_prompt_left = 10;

  EXPECT_EQ(plan(views, {6, 8, 64}).text, (Slices{{{3}, 4}, {{2}, 2}}));
}

TEST(PlanStep, PromptsOfOneSizeGoOldestFirst) {
  EXPECT_EQ(plan({text(3, 5), text(1, 7), text(2, 4)}, {10, 8, 64}).text,
            (Slices{{{1}, 7}, {{2}, 3}}));
}

TEST(PlanStep, AWaitOfSixteenStepsWeighsAsMuchAsHalfOfThePrompt) {
  for (const auto& [n_steps, first] : {std::pair{7 * kAgingSteps - 1, 2}, {7 * kAgingSteps, 1}}) {
    std::vector<SequenceView> views = {text(1, 8 << 7), text(2, 8)};
    views[0].n_passed_over = static_cast<std::uint64_t>(n_steps);

    EXPECT_EQ(plan(views, {8, 8, 64}).text.front().sequence.value, first) << n_steps;
  }
}

TEST(PlanStep, AShortImageGoesBeforeALongOne) {
  EXPECT_EQ(plan({visual(1, 4000), visual(2, 60)}, {4, 64, 64}).visual,
            (Slices{{{2}, 60}, {{1}, 4}}));
}

TEST(PlanStep, RunsVisualRowsInACallOfTheirOwn) {
  const StepPlan result = plan({visual(1, 5), visual(2, 9), text(3, 4)}, {4, 8, 64});

  EXPECT_EQ(result.text, (Slices{{{3}, 4}}));
  EXPECT_EQ(result.visual, (Slices{{{1}, 5}, {{2}, 3}}));
}

TEST(PlanStep, RunsANonCausalSegmentAloneAndWholeAboveTheBudget) {
  const StepPlan result = plan({visual(1, 20, true), visual(2, 30)}, {4, 8, 64});

  EXPECT_EQ(result.visual, (Slices{{{1}, 20}}));
}

TEST(PlanStep, LetsANonCausalSegmentWaitForVisualRowsBeforeIt) {
  const StepPlan result = plan({visual(1, 2), visual(2, 4, true), visual(3, 9)}, {4, 8, 64});

  EXPECT_EQ(result.visual, (Slices{{{1}, 2}, {{3}, 6}}));
}

TEST(PlanStep, ServesTheOldestWhenMoreDecodeThanFit) {
  const StepPlan result = plan({decoding(3), decoding(1), decoding(2), text(0, 4)}, {2, 8, 64});

  EXPECT_EQ(result.decode, (Ids{{1}, {2}}));
  EXPECT_TRUE(result.text.empty());
}

TEST(PlanStep, BreaksTiesOfArrivalById) {
  std::vector<SequenceView> views = {text(2, 4), text(1, 4)};
  for (SequenceView& view : views) view.arrival = 7;

  EXPECT_EQ(plan(views, {6, 8, 64}).text, (Slices{{{1}, 4}, {{2}, 2}}));
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
  std::uint64_t n_passed_over = 0;

  int n_prompt_left() const {
    int n_left = 0;
    for (const Piece& piece : pieces) n_left += piece.phase == Phase::kDecode ? 0 : piece.n_left;
    return n_left;
  }
};

Life arbitrary_life(std::uint64_t arrival, int n_rows_max) {
  Life life;
  life.arrival = arrival;
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
    views.push_back({id, life.arrival, piece.phase, piece.n_left, piece.non_causal,
                     life.n_prompt_left(), life.n_passed_over});
  }
  return views;
}

void advance(Lives& lives, SequenceId id, Phase phase, int n_rows) {
  Life::Piece& piece = lives.at(id).pieces.front();
  RC_ASSERT(piece.phase == phase);
  RC_ASSERT(n_rows >= 1 && n_rows <= piece.n_left);
  RC_ASSERT(!piece.non_causal || n_rows == piece.n_left);
  piece.n_left -= n_rows;
  if (piece.n_left > 0) return;
  lives.at(id).pieces.erase(lives.at(id).pieces.begin());
  if (lives.at(id).pieces.empty()) lives.erase(id);
}

void advance(Lives& lives, const StepPlan& plan) {
  for (const SequenceId id : passed_over(view(lives), plan)) ++lives.at(id).n_passed_over;
  for (const auto* slices : {&plan.text, &plan.visual}) {
    for (const Slice& s : *slices) {
      auto& n_passed_over = lives.at(s.sequence).n_passed_over;
      if (n_passed_over > 0) --n_passed_over;
    }
  }
  for (const SequenceId id : plan.decode) advance(lives, id, Phase::kDecode, 1);
  for (const Slice& s : plan.text) advance(lives, s.sequence, Phase::kPrefillText, s.n_rows);
  for (const Slice& s : plan.visual) advance(lives, s.sequence, Phase::kPrefillVisual, s.n_rows);
}

void check(const StepPlan& result, const Lives& lives, const StepBudget& budget) {
  RC_ASSERT(result.empty() == lives.empty());
  std::set<SequenceId> served;
  int n_token_rows = static_cast<int>(result.decode.size());
  int n_visual_rows = 0;
  for (const SequenceId id : result.decode) RC_ASSERT(served.insert(id).second);
  for (const Slice& slice : result.text) {
    RC_ASSERT(served.insert(slice.sequence).second);
    n_token_rows += slice.n_rows;
  }
  for (const Slice& slice : result.visual) {
    RC_ASSERT(served.insert(slice.sequence).second);
    n_visual_rows += slice.n_rows;
  }
  RC_ASSERT(n_token_rows <= budget.n_token_rows);
  const bool whole = std::any_of(result.visual.begin(), result.visual.end(), [&](const Slice& s) {
    return lives.at(s.sequence).pieces.front().non_causal;
  });
  RC_ASSERT(!whole || result.visual.size() == 1);
  RC_ASSERT(n_visual_rows <= (whole ? budget.n_rows_max : budget.n_visual_rows));
}

// A long prompt that is served must not keep its place: newcomers would wait for all of it.
TEST(PlanStep, ShortPromptsAndALongOneTakeTurnsOnceItHasWaited) {
  Lives lives;
  lives[SequenceId{0}].pieces = {{Phase::kPrefillText, 10'000, false}};
  std::int32_t n_arrived = 0;
  int n_steps_max = 0;  // that a short one took
  std::map<SequenceId, int> n_steps;
  for (int step = 0; step < 2000; ++step) {
    if (step % 2 == 0) {
      lives[SequenceId{++n_arrived}] = {{{Phase::kPrefillText, 8, false}},
                                        static_cast<std::uint64_t>(n_arrived)};
    }
    for (const auto& [id, life] : lives)
      n_steps_max = std::max(n_steps_max, id.value == 0 ? 0 : ++n_steps[id]);
    advance(lives, plan_step(view(lives), {8, 8, 64}));
  }

  EXPECT_LE(n_steps_max, 3);
  EXPECT_LT(lives[SequenceId{0}].pieces.front().n_left, 10'000 - 800 * 8);
}

RC_GTEST_PROP(PlanStep, KeepsTheBudgetMakesProgressAndFinishesEverySequence, ()) {
  const int n_rows_max = *rc::gen::inRange(1, 65);
  const StepBudget budget{*rc::gen::inRange(1, n_rows_max + 1),
                          *rc::gen::inRange(1, n_rows_max + 1), n_rows_max};
  Lives lives;
  int n_to_come = *rc::gen::inRange(1, 12);
  std::int32_t n_arrived = 0;

  // Each step runs at least one row, so this ends; a sequence that starved would hang the test.
  while (n_to_come > 0 || !lives.empty()) {
    if (n_to_come > 0 && (lives.empty() || *rc::gen::arbitrary<bool>())) {
      lives[SequenceId{n_arrived}] =
          arbitrary_life(static_cast<std::uint64_t>(n_arrived), n_rows_max);
      ++n_arrived;
      --n_to_come;
    }
    const StepPlan result = plan_step(view(lives), budget);
    check(result, lives, budget);
    advance(lives, result);
  }
}

RC_GTEST_PROP(PlanStep, GivesTheSamePlanForTheSameSequencesInAnyOrder, ()) {
  Lives lives;
  for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
    lives[SequenceId{i}] = arbitrary_life(static_cast<std::uint64_t>(*rc::gen::inRange(0, 6)), 40);
  }
  const StepBudget budget{*rc::gen::inRange(1, 41), *rc::gen::inRange(1, 41), 40};
  std::vector<SequenceView> views = view(lives);
  const StepPlan expected = plan_step(views, budget);

  std::reverse(views.begin(), views.end());

  RC_ASSERT(plan_step(views, budget) == expected);
}

// New sequences that keep coming must not delay an old one without end. It is passed over until no
// newcomer is before it, and from then on it takes turns with eleven others at most.
RC_GTEST_PROP(PlanStep, AnOldSequenceEndsWhileNewOnesKeepComing, ()) {
  const StepBudget budget{*rc::gen::inRange(1, 5), *rc::gen::inRange(1, 5), 60};
  Lives lives;
  std::int32_t n_arrived = 0;
  const auto arrive = [&] {
    lives[SequenceId{n_arrived}] = arbitrary_life(static_cast<std::uint64_t>(n_arrived), 60);
    ++n_arrived;
  };
  for (int i = 0; i < 4; ++i) arrive();
  int n_rows_before = 0;
  for (const auto& [id, life] : lives) {
    for (const Life::Piece& piece : life.pieces) n_rows_before += piece.n_left;
  }

  int n_steps = 0;
  while (lives.begin()->first.value < 4) {
    RC_ASSERT(++n_steps <= kWaitStepsMax + 12 * (n_rows_before + 12 * 12));
    if (lives.size() < 12) arrive();
    const StepPlan result = plan_step(view(lives), budget);
    advance(lives, result);
  }
}

}  // namespace
}  // namespace tessera::schedule
