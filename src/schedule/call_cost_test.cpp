#include "schedule/call_cost.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>

namespace tessera::schedule {
namespace {

/// A machine whose calls take what the formula says.
struct Machine {
  double a = 0.02;   // seconds of a call
  double b = 0.005;  // of a row
  double c = 2e-6;   // of a row and cell

  double seconds(int n_rows, int n_cells) const {
    return a + b * n_rows + c * n_rows * static_cast<double>(n_cells);
  }
  void teach(CallCost& cost, int n_rows, int n_cells, int n_times = 1) const {
    for (int i = 0; i < n_times; ++i) cost.record(n_rows, n_cells, seconds(n_rows, n_cells));
  }
};

void teach_sizes(CallCost& cost, const Machine& machine, int n_times = 1) {
  for (const int n_rows : {1, 3, 8, 40, 64}) machine.teach(cost, n_rows, n_rows * 50, n_times);
}

TEST(CallCost, KnowsNothingBeforeItWasTaught) {
  const CallCost cost;

  EXPECT_EQ(cost.seconds(1, 0), std::nullopt);
  EXPECT_EQ(cost.rows_within(1, 0, 64), std::nullopt);
}

TEST(CallCost, FindsTheMachine) {
  CallCost cost;
  const Machine machine;
  teach_sizes(cost, machine);

  for (const auto& [n_rows, n_cells] : {std::pair{1, 50}, {20, 1000}, {64, 3200}, {512, 4000}}) {
    EXPECT_NEAR(*cost.seconds(n_rows, n_cells) / machine.seconds(n_rows, n_cells), 1, 0.05)
        << n_rows;
  }
}

TEST(CallCost, TwiceTheRowsTakeTwiceTheTimeWhenOneSizeIsKnown) {
  CallCost cost;
  cost.record(1, 100, 0.01);

  EXPECT_NEAR(*cost.seconds(1, 100), 0.01, 1e-9);
  EXPECT_NEAR(*cost.seconds(64, 100), 0.64, 1e-9);
}

TEST(CallCost, FindsAMachineWhoseCallsAllTakeTheSame) {
  CallCost cost;
  int n_cells = 0;
  for (const int n_rows : {11, 1, 1, 9, 1}) {
    cost.record(n_rows, n_cells, n_rows > 1 ? 0.01 : 0.0101);
    n_cells += n_rows;
  }

  EXPECT_NEAR(*cost.seconds(64, 1000), 0.01, 2e-4);
  EXPECT_EQ(cost.rows_within(0.011, 100, 64), 64);
}

TEST(CallCost, SaysHowManyRowsFit) {
  CallCost cost;
  const Machine machine;
  teach_sizes(cost, machine);

  for (const double seconds : {0.05, 0.1, 0.2}) {
    const int n_rows = *cost.rows_within(seconds, 500, 512);
    EXPECT_LE(machine.seconds(n_rows, 500), seconds * 1.03);
    EXPECT_GE(machine.seconds(n_rows + 2, 500), seconds * 0.97);
  }
  EXPECT_EQ(cost.rows_within(100, 500, 64), 64);
  EXPECT_EQ(cost.rows_within(0.001, 500, 64), 0) << "an empty call takes longer";
}

TEST(CallCost, FollowsAMachineThatGotSlower) {
  CallCost cost;
  teach_sizes(cost, {}, 20);
  const Machine slow{0.04, 0.01, 4e-6};
  teach_sizes(cost, slow, 30);

  EXPECT_NEAR(*cost.seconds(32, 1000) / slow.seconds(32, 1000), 1, 0.1);
}

TEST(CallCost, RemembersALargeCallThroughThousandsOfSmallOnes) {
  CallCost cost;
  const Machine machine;
  teach_sizes(cost, machine);
  machine.teach(cost, 1, 2000, 5000);

  EXPECT_NEAR(*cost.seconds(64, 3200) / machine.seconds(64, 3200), 1, 0.15);
}

TEST(CallCost, CountsNoCallWithoutRowsOrTime) {
  CallCost cost;
  cost.record(0, 10, 1);
  cost.record(4, 10, 0);
  cost.record(4, 10, -1);
  cost.record(4, 10, std::nan(""));

  EXPECT_EQ(cost.seconds(4, 10), std::nullopt);
}

RC_GTEST_PROP(CallCost, MoreRowsNeverTakeLessTimeWhateverWasMeasured, ()) {
  CallCost cost;
  for (int i = *rc::gen::inRange(1, 40); i > 0; --i) {
    cost.record(*rc::gen::inRange(1, 100'000), *rc::gen::inRange(0, 1'000'000),
                *rc::gen::inRange(1, 1'000'000'000) * 1e-6);
  }
  const int n_cells = *rc::gen::inRange(0, 100'000);
  double before = 0;
  for (int n_rows = 1; n_rows < 5000; n_rows = n_rows * 3 + 1) {
    const double seconds = *cost.seconds(n_rows, n_cells);
    RC_ASSERT(std::isfinite(seconds));
    RC_ASSERT(seconds >= before);
    before = seconds;
    const int n_within = *cost.rows_within(seconds, n_cells, 64);
    RC_ASSERT(n_within >= std::min(n_rows, 64) - 1 && n_within <= 64);
  }
}

RC_GTEST_PROP(CallCost, IsOffByLessThanAMachineIsUnsteady, ()) {
  const Machine machine{*rc::gen::inRange(1, 100) * 1e-3, *rc::gen::inRange(1, 100) * 1e-4,
                        *rc::gen::inRange(0, 100) * 1e-7};
  std::minstd_rand random(static_cast<unsigned>(*rc::gen::inRange(1, 1'000'000)));
  std::uniform_real_distribution<double> unsteady(0.9, 1.1);
  CallCost cost;
  double error = 0;
  constexpr int kCalls = 400;
  for (int i = 0; i < kCalls; ++i) {
    const int n_rows = 1 + static_cast<int>(random() % (i % 3 == 0 ? 64 : 8));
    const int n_cells = 200 + i * 4;
    const double seconds = machine.seconds(n_rows, n_cells) * unsteady(random);
    if (const auto expected = cost.seconds(n_rows, n_cells); expected && i >= kCalls / 2) {
      error += std::abs(*expected - seconds) / seconds;
    }
    cost.record(n_rows, n_cells, seconds);
  }

  RC_ASSERT(error / (kCalls / 2.0) < 0.15);
}

}  // namespace
}  // namespace tessera::schedule
