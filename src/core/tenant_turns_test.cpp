#include "core/tenant_turns.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr TenantId kAnn{1};
constexpr TenantId kBob{2};

TEST(TenantTurns, WhoHasHadLeastIsNext) {
  TenantTurns turns;
  EXPECT_EQ(turns.turn_of(kAnn), turns.turn_of(kBob));

  turns.serve(kAnn, 10);
  EXPECT_LT(turns.turn_of(kBob), turns.turn_of(kAnn));
  turns.serve(kBob, 15);
  EXPECT_LT(turns.turn_of(kAnn), turns.turn_of(kBob));
}

TEST(TenantTurns, WhoWasIdleIsNoFurtherAheadThanTheOneWhoIsServed) {
  TenantTurns turns;
  for (int i = 0; i < 50; ++i) turns.serve(kAnn, 10);

  EXPECT_EQ(turns.turn_of(kAnn) - turns.turn_of(kBob), 10);
}

TEST(TenantTurns, WhatSomebodyGetsBesideIsCountedAndMovesNobodyElse) {
  TenantTurns turns;
  turns.serve(kAnn, 10);
  const auto before = turns.turn_of(kAnn);

  turns.add(kBob, 30);

  EXPECT_EQ(turns.turn_of(kAnn), before);
  EXPECT_GT(turns.turn_of(kBob), before);
}

}  // namespace
}  // namespace tessera
