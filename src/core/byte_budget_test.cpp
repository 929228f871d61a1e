#include "core/byte_budget.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace tessera {
namespace {

constexpr TenantId kTenant{1};
constexpr TenantId kOther{2};
constexpr TenantId kThird{3};

ByteBudget budget_of(std::size_t bytes_max, std::size_t tenant_bytes_max) {
  Limits limits;
  limits.held_bytes_max = bytes_max;
  limits.tenant_held_bytes_max = tenant_bytes_max;
  return ByteBudget(limits);
}

/// The reason of a refusal; empty when the bytes were there.
std::string reason_of(const Result<void>& grown) {
  return grown ? "" : grown.error().reason;
}

TEST(ByteBudget, RefusesWhatIsNotLeftForATenantAndForAll) {
  const ByteBudget budget = budget_of(100, 60);
  const auto first = budget.open(kTenant);
  const auto second = budget.open(kTenant);
  const auto other = budget.open(kOther);
  const auto third = budget.open(kThird);

  EXPECT_EQ(reason_of(first->grow(40)), "");
  EXPECT_EQ(reason_of(second->grow(21)), "tenant_busy");
  EXPECT_EQ(reason_of(second->grow(20)), "");
  EXPECT_EQ(reason_of(other->grow(30)), "");
  EXPECT_EQ(reason_of(third->grow(11)), "server_busy");
  EXPECT_EQ(reason_of(third->grow(std::numeric_limits<std::size_t>::max())), "server_busy");
  EXPECT_EQ(reason_of(third->grow(10)), "");
  const auto refused = third->grow(1);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_GT(refused.error().retry_after.count(), 0);
}

TEST(ByteBudget, WhatIsGivenBackCanBeReservedAgain) {
  const ByteBudget budget = budget_of(100, 100);
  EXPECT_TRUE(budget.open(kTenant)->grow(100));
  const auto some = budget.open(kTenant);
  EXPECT_TRUE(some->grow(60));
  EXPECT_TRUE(some->grow(40));
  const auto other = budget.open(kOther);
  EXPECT_FALSE(other->grow(1));

  some->shrink_to(30);
  EXPECT_FALSE(other->grow(71));
  some->shrink_to(50);  // no growth
  EXPECT_TRUE(other->grow(70));
}

TEST(ByteBudget, LosesNothingAmongThreads) {
  const ByteBudget budget = budget_of(8, 6);
  std::vector<std::jthread> threads;
  for (std::uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&budget, i] {
      for (int n = 0; n < 1000; ++n) {
        const auto held = budget.open(TenantId{i % 2});
        if (held->grow(3)) held->shrink_to(1);
      }
    });
  }
  threads.clear();

  EXPECT_TRUE(budget.open(TenantId{0})->grow(6));
  const auto all = budget.open(TenantId{0});
  const auto rest = budget.open(TenantId{1});
  EXPECT_TRUE(all->grow(6));
  EXPECT_TRUE(rest->grow(2));
}

}  // namespace
}  // namespace tessera
