#include "schedule/plan_admission.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

namespace tessera::schedule {
namespace {

using Line = std::vector<WaitingNeed>;
using Order = std::vector<std::size_t>;

constexpr TenantId kAnn{1};
constexpr TenantId kBob{2};

Order plan(const Line& waiting, const Need& free) {
  TenantTurns turns;
  return plan_admission(waiting, {free}, {}, turns);
}

TEST(PlanAdmission, StartsWhatFitsInOrder) {
  const Line waiting = {{kAnn, {1, 100}}, {kAnn, {2, 50}}, {kAnn, {1, 10}}};

  EXPECT_EQ(plan(waiting, {4, 160}), (Order{0, 1, 2}));
  EXPECT_EQ(plan(waiting, {4, 150}), (Order{0, 1}));
  EXPECT_EQ(plan(waiting, {3, 1000}), (Order{0, 1}));
  EXPECT_EQ(plan({}, {4, 1000}), Order{});
}

TEST(PlanAdmission, LetsNobodyOvertakeTheNext) {
  const Line waiting = {{kAnn, {4, 10}}, {kAnn, {1, 10}}, {kBob, {1, 10}}};

  EXPECT_EQ(plan(waiting, {3, 1000}), Order{});
}

TEST(PlanAdmission, NextIsTheTenantThatHasHadLeast) {
  const Line waiting = {
      {kAnn, {1, 10}}, {kAnn, {1, 10}}, {kAnn, {1, 10}}, {kBob, {1, 15}}, {kBob, {1, 15}}};

  // Had before each start: 0 0, 10 0, 10 15, 20 15, 20 30.
  EXPECT_EQ(plan(waiting, {8, 1000}), (Order{0, 3, 1, 4, 2}));
}

TEST(PlanAdmission, RemembersWhoHadWhatWhenThereIsOnePlace) {
  TenantTurns turns;
  Line waiting = {{kAnn, {1, 10}}, {kAnn, {1, 10}}, {kAnn, {1, 10}}, {kBob, {1, 10}}};
  std::vector<TenantId> started;
  while (!waiting.empty()) {
    const Order order = plan_admission(waiting, {{1, 1000}}, {}, turns);
    ASSERT_EQ(order.size(), 1U);
    started.push_back(waiting[order[0]].tenant);
    waiting.erase(waiting.begin() + static_cast<long>(order[0]));
  }

  EXPECT_EQ(started, (std::vector{kAnn, kBob, kAnn, kAnn}));
}

TEST(PlanAdmission, WhoAskedForNothingHasSavedNothingUp) {
  TenantTurns turns;
  const Line many(50, {kAnn, {1, 10}});
  ASSERT_EQ(plan_admission(many, {{50, 1000}}, {}, turns).size(), 50U);

  const Line waiting = {{kBob, {1, 10}}, {kBob, {1, 10}}, {kBob, {1, 10}}, {kAnn, {1, 10}}};

  // Bob is one request behind, not fifty.
  EXPECT_EQ(plan_admission(waiting, {{4, 1000}}, {}, turns), (Order{0, 1, 3, 2}));
}

// --- room for others
// ------------------------------------------------------------------------------

using Running = std::map<TenantId, Need>;

Order plan_for_several(const Line& waiting, const Need& total, const Running& running) {
  TenantTurns turns;
  return plan_admission(waiting, {total, /*has_several_tenants=*/true}, running, turns);
}

TEST(PlanAdmission, ATenantThatRunsSomethingLeavesAnEighthToOthers) {
  const Line many(20, {kAnn, {1, 10}});

  EXPECT_EQ(plan(many, {16, 1000}).size(), 16U) << "where there is no other";
  EXPECT_EQ(plan_for_several(many, {16, 1000}, {}).size(), 14U);
  EXPECT_EQ(plan_for_several(many, {20, 100}, {}).size(), 8U) << "of 100 cells, 12 are left";
  EXPECT_EQ(plan_for_several(many, {3, 1000}, {}).size(), 3U) << "too few to leave one";
}

TEST(PlanAdmission, WhoHasNothingTakesWhatWasLeft) {
  const Running running = {{kAnn, {14, 140}}};
  const Line waiting = {{kAnn, {1, 10}}, {kAnn, {1, 10}}, {kBob, {1, 10}}, {kBob, {1, 10}}};

  EXPECT_EQ(plan_for_several(waiting, {16, 1000}, running), Order{2}) << "and then leaves some too";
}

TEST(PlanAdmission, WhoHasNothingMayTakeEverything) {
  EXPECT_EQ(plan_for_several({{kAnn, {16, 1000}}}, {16, 1000}, {}), Order{0});
}

TEST(PlanAdmission, WhoMustLeaveRoomIsPassedOverButNobodyOvertakesWhoDoesNotFit) {
  const TenantId carl{3};
  const Running running = {{kAnn, {13, 130}}};
  const Line large = {{kAnn, {2, 10}}, {kBob, {4, 10}}, {carl, {1, 10}}};

  EXPECT_EQ(plan_for_several(large, {16, 1000}, running), Order{}) << "the next is Bob";
  EXPECT_EQ(plan_for_several({large[0], large[2], {kAnn, {1, 10}}}, {16, 1000}, running), Order{1})
      << "nor does Ann's own later one overtake hers";
}

constexpr Need kTotal{8, 200};

WaitingNeed arbitrary_request() {
  return {TenantId{*rc::gen::inRange(0U, 4U)},
          {*rc::gen::inRange(1, kTotal.n_sequences + 1),
           *rc::gen::inRange<std::int64_t>(1, kTotal.n_kv_cells + 1)}};
}

RC_GTEST_PROP(PlanAdmission, EveryRequestStartsAndReservationsNeverExceedTheTotal, ()) {
  TenantTurns turns;
  Line waiting;
  for (int i = *rc::gen::inRange(0, 30); i > 0; --i) waiting.push_back(arbitrary_request());
  Line running;
  Need free = kTotal;
  const Room room{kTotal, *rc::gen::arbitrary<bool>()};

  while (!waiting.empty() || !running.empty()) {
    Running held;
    for (const WaitingNeed& one : running) {
      held.try_emplace(one.tenant, Need{0, 0}).first->second.add(one.need);
    }
    Order order = plan_admission(waiting, room, held, turns);
    std::ranges::sort(order, std::greater());
    for (const std::size_t i : order) {
      running.push_back(waiting[i]);
      free.n_sequences -= waiting[i].need.n_sequences;
      free.n_kv_cells -= waiting[i].need.n_kv_cells;
      waiting.erase(waiting.begin() + static_cast<long>(i));
    }
    RC_ASSERT(free.n_sequences >= 0 && free.n_kv_cells >= 0);
    RC_ASSERT(!running.empty());  // else the next would wait for ever
    const auto ended = *rc::gen::inRange<std::size_t>(0, running.size());
    free.n_sequences += running[ended].need.n_sequences;
    free.n_kv_cells += running[ended].need.n_kv_cells;
    running.erase(running.begin() + static_cast<long>(ended));
  }
}

// However one tenant floods the line, what two tenants have had, as long as both ask, differs by
// one request at most.
RC_GTEST_PROP(PlanAdmission, TenantsHaveTheSameWhateverTheirRequestsAre, ()) {
  TenantTurns turns;
  Line waiting;
  for (int i = 0; i < 60; ++i) {
    waiting.push_back(arbitrary_request());
    waiting.back().tenant = i % 6 == 0 ? kBob : kAnn;
  }
  std::int64_t n_ann = 0;
  std::int64_t n_bob = 0;
  for (int n_bob_left = 10; n_bob_left > 0;) {
    const Order order = plan_admission(waiting, {kTotal}, {}, turns);
    for (const std::size_t i : order)
      (waiting[i].tenant == kAnn ? n_ann : n_bob) += waiting[i].need.n_kv_cells;
    Order gone = order;
    std::ranges::sort(gone, std::greater());
    for (const std::size_t i : gone) {
      n_bob_left -= waiting[i].tenant == kBob ? 1 : 0;
      waiting.erase(waiting.begin() + static_cast<long>(i));
    }
    if (n_bob_left > 0) RC_ASSERT(std::abs(n_ann - n_bob) <= kTotal.n_kv_cells);
  }
}

RC_GTEST_PROP(PlanAdmission, NamesOfTenantsDoNotMatter, ()) {
  Line waiting;
  for (int i = *rc::gen::inRange(0, 30); i > 0; --i) waiting.push_back(arbitrary_request());
  const Order expected = plan(waiting, kTotal);

  for (WaitingNeed& request : waiting) request.tenant.value = 100 - request.tenant.value * 7;

  RC_ASSERT(plan(waiting, kTotal) == expected);
}

}  // namespace
}  // namespace tessera::schedule
