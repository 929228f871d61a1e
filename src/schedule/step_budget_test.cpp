#include "schedule/step_budget.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::schedule {
namespace {

using std::chrono::milliseconds;

constexpr StepBudget kCeiling{false, 64, 64, 512};  // two calls
constexpr StepBudget kMixed{true, 64, 64, 512};
constexpr int kCells = 100;

std::vector<SequenceView> views(int n_decode, int n_text, int n_visual) {
  std::vector<SequenceView> views;
  const auto add = [&](Phase phase, int n) {
    for (int i = 0; i < n; ++i) {
      SequenceView view;
      view.id = SequenceId{static_cast<std::int32_t>(views.size())};
      view.phase = phase;
      views.push_back(view);
    }
  };
  add(Phase::kDecode, n_decode);
  add(Phase::kPrefillText, n_text);
  add(Phase::kPrefillVisual, n_visual);
  return views;
}

/// A call takes 20 ms and 2 ms a row.
StepCosts costs() {
  StepCosts costs;
  for (CallCost* cost : {&costs.first, &costs.second}) {
    for (const int n_rows : {1, 2, 4, 8, 64}) cost->record(n_rows, kCells, 0.020 + 0.002 * n_rows);
  }
  return costs;
}

StepBudget budget(const std::vector<SequenceView>& views, int objective_ms,
                  const StepCosts& costs = schedule::costs(),
                  const StepBudget& ceiling = kCeiling) {
  return step_budget(views, costs, kCells, milliseconds(objective_ms), ceiling);
}

TEST(StepBudget, IsTheCeilingWhileNobodyDecodes) {
  const StepBudget result = budget(views(0, 2, 2), 30);

  EXPECT_EQ(result.n_rows, 64);
  EXPECT_EQ(result.n_visual_rows, 64);
}

TEST(StepBudget, IsTheCeilingBeforeAnythingWasMeasured) {
  EXPECT_EQ(budget(views(1, 1, 1), 30, {}).n_visual_rows, 64);
}

TEST(StepBudget, FillsTheObjectiveWithRows) {
  // One row decodes, 22 ms. Of 100 ms 78 are left: 29 visual rows, or 39 more text rows.
  EXPECT_NEAR(budget(views(1, 0, 1), 100).n_visual_rows, 29, 1);
  EXPECT_NEAR(budget(views(1, 1, 0), 100).n_rows, 40, 1);
}

TEST(StepBudget, SharesBetweenTextAndVisualRows) {
  const StepBudget result = budget(views(1, 1, 1), 120);

  EXPECT_NEAR(result.n_visual_rows, (49 - 20) / 2, 1);
  EXPECT_NEAR(result.n_rows, 1 + 49 / 2, 1);
}

TEST(StepBudget, HasAllOfTheTimeForOneCall) {
  const auto rows = [](const std::vector<SequenceView>& views) {
    return budget(views, 100, costs(), kMixed).n_rows;
  };

  EXPECT_NEAR(rows(views(1, 0, 1)), 40, 1);
  EXPECT_NEAR(rows(views(1, 1, 1)), 40, 1);
  EXPECT_EQ(budget(views(4, 1, 1), 1, costs(), kMixed).n_rows, 4 + kSliceRowsMin);
}

TEST(StepBudget, IsNeverLessThanASlice) {
  const StepBudget result = budget(views(4, 1, 1), 1);

  EXPECT_EQ(result.n_rows, 4 + kSliceRowsMin);
  EXPECT_EQ(result.n_visual_rows, kSliceRowsMin);
}

TEST(StepBudget, IsASliceOfAKindThatWasNeverMeasured) {
  StepCosts text_alone = costs();
  text_alone.second = {};

  EXPECT_EQ(budget(views(1, 0, 1), 1000, text_alone).n_visual_rows, kFirstSliceRows);
}

TEST(StepBudget, NeverExceedsTheCeiling) {
  const StepBudget result = budget(views(1, 1, 1), 10'000);
  EXPECT_EQ(result.n_rows, 64);
  EXPECT_EQ(result.n_visual_rows, 64);

  const StepBudget full = budget(views(63, 1, 0), 1);
  EXPECT_EQ(full.n_rows, 64);
}

TEST(StepBudget, WithoutAnObjectiveAStepMayTakeTwiceAsLongAsOneThatDecodes) {
  // Twenty rows take 60 ms, and 60 more are 30 rows.
  EXPECT_NEAR(budget(views(20, 0, 1), 0, costs(), kMixed).n_rows, 20 + 30, 1);
}

TEST(StepBudget, ATextModelHasOneCallToo) {
  EXPECT_EQ(budget(views(20, 1, 0), 0).n_rows, budget(views(20, 1, 0), 0, costs(), kMixed).n_rows);
}

TEST(StepBudget, WithoutAnObjectiveTwoCallsMayTakeTwoAndAHalfTimesOneThatDecodes) {
  // One row takes 22 ms, and 33 more are 6 rows. Twenty take 60 ms, and 90 more.
  EXPECT_NEAR(budget(views(1, 0, 1), 0).n_visual_rows, 6, 1);
  EXPECT_NEAR(budget(views(20, 0, 1), 0).n_visual_rows, 35, 1);
}

TEST(StepBudget, WithoutAnObjectiveAFastMachineNeedNotHurry) {
  StepCosts fast;
  for (CallCost* cost : {&fast.first, &fast.second}) {
    for (const int n_rows : {1, 2, 4, 8, 64}) cost->record(n_rows, kCells, 0.0002 * n_rows);
  }

  EXPECT_EQ(budget(views(1, 0, 1), 0, fast).n_visual_rows, 64);
}

}  // namespace
}  // namespace tessera::schedule
