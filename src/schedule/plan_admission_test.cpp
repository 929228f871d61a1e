#include "schedule/plan_admission.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <vector>

namespace tessera::schedule {
namespace {

TEST(PlanAdmission, StartsWhatFitsFromTheFront) {
  const std::vector<Need> waiting = {{1, 100}, {2, 50}, {1, 10}};

  EXPECT_EQ(plan_admission(waiting, {4, 160}), 3U);
  EXPECT_EQ(plan_admission(waiting, {4, 150}), 2U);
  EXPECT_EQ(plan_admission(waiting, {3, 1000}), 2U);
  EXPECT_EQ(plan_admission({}, {4, 1000}), 0U);
}

TEST(PlanAdmission, LetsNobodyOvertake) {
  const std::vector<Need> waiting = {{4, 10}, {1, 10}};

  EXPECT_EQ(plan_admission(waiting, {3, 1000}), 0U);
}

TEST(PlanAdmission, FitsExactly) {
  EXPECT_TRUE(fits({2, 10}, {2, 10}));
  EXPECT_FALSE(fits({3, 10}, {2, 10}));
  EXPECT_FALSE(fits({2, 11}, {2, 10}));
}

RC_GTEST_PROP(PlanAdmission, EveryRequestStartsAndReservationsNeverExceedTheTotal, ()) {
  const Room total{*rc::gen::inRange(1, 9), *rc::gen::inRange(1, 200)};
  std::deque<Need> waiting;
  for (int i = *rc::gen::inRange(0, 30); i > 0; --i) {
    waiting.push_back({*rc::gen::inRange(1, total.n_sequences + 1),
                       *rc::gen::inRange<std::int64_t>(1, total.n_kv_cells + 1)});
  }
  std::vector<Need> running;
  Room free = total;

  while (!waiting.empty() || !running.empty()) {
    const std::vector<Need> line(waiting.begin(), waiting.end());
    for (std::size_t n = plan_admission(line, free); n > 0; --n) {
      running.push_back(waiting.front());
      free.n_sequences -= waiting.front().n_sequences;
      free.n_kv_cells -= waiting.front().n_kv_cells;
      waiting.pop_front();
    }
    RC_ASSERT(free.n_sequences >= 0 && free.n_kv_cells >= 0);
    RC_ASSERT(!running.empty());  // else the first in line would wait for ever
    const auto ended = *rc::gen::inRange<std::size_t>(0, running.size());
    free.n_sequences += running[ended].n_sequences;
    free.n_kv_cells += running[ended].n_kv_cells;
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(ended));
  }
}

}  // namespace
}  // namespace tessera::schedule
