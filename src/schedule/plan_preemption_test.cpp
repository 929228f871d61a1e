#include "schedule/plan_preemption.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::schedule {
namespace {

constexpr TenantId kAnn{1};
constexpr TenantId kBob{2};

using Running = std::vector<Begun>;

TEST(PlanPreemption, TheYoungestOfTheTenantThatHasMostGivesWay) {
  const Running running = {
      {kAnn, 0, 100}, {kAnn, 2, 100}, {kAnn, 1, 300}, {kBob, 3, 400}};  // 500 and 400

  EXPECT_EQ(who_gives_way(running), 1U);
}

TEST(PlanPreemption, TheOldestNeverDoes) {
  EXPECT_EQ(who_gives_way(Running{}), std::nullopt);
  EXPECT_EQ(who_gives_way(Running{{kAnn, 7, 100}}), std::nullopt);
  EXPECT_EQ(who_gives_way(Running{{kAnn, 7, 900}, {kBob, 8, 10}}), 1U)
      << "though its tenant has most";
}

TEST(PlanPreemption, OneComesBackWhenWhatItNeedsIsFree) {
  const Running running = {{kAnn, 0, 100}, {kAnn, 1, 50}};

  EXPECT_TRUE(can_come_back(running, {kBob, 2, 50}, 200));
  EXPECT_FALSE(can_come_back(running, {kBob, 2, 51}, 200));
  EXPECT_TRUE(can_come_back({}, {kBob, 2, 200}, 200));
}

TEST(PlanPreemption, WhatTakesLessIsDone) {
  EXPECT_TRUE(is_copied(0.1, 0.2));
  EXPECT_FALSE(is_copied(0.2, 0.1));
  EXPECT_TRUE(is_copied(std::nullopt, 0.1)) << "not measured yet";
  EXPECT_TRUE(is_copied(0.1, std::nullopt)) << "cannot be computed";
}

Running arbitrary_running() {
  const auto n = *rc::gen::inRange<std::size_t>(0, 9);
  Running running;
  for (std::size_t i = 0; i < n; ++i) {
    running.push_back({TenantId{*rc::gen::inRange(0U, 4U)}, i, *rc::gen::inRange(0, 100)});
  }
  return running;
}

// One after the other, until it fits.
RC_GTEST_PROP(PlanPreemption, EndsWithTheOldestAlone, ()) {
  Running running = arbitrary_running();
  const std::size_t n = running.size();
  std::size_t n_set_aside = 0;
  while (const auto i = who_gives_way(running)) {
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(*i));
    RC_ASSERT(++n_set_aside < n);
  }
  RC_ASSERT(running.size() == std::min<std::size_t>(n, 1));
  if (n > 0) RC_ASSERT(running.front().arrival == 0U);
}

RC_GTEST_PROP(PlanPreemption, TheOrderInWhichTheyAreListedDoesNotMatter, ()) {
  const Running running = arbitrary_running();
  Running reversed = running;
  std::ranges::reverse(reversed);

  const auto one = who_gives_way(running);
  const auto other = who_gives_way(reversed);

  RC_ASSERT(one.has_value() == other.has_value());
  if (one) RC_ASSERT(running[*one].arrival == reversed[*other].arrival);
}

}  // namespace
}  // namespace tessera::schedule
