#include "fetch/byte_budget.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tessera::fetch {
namespace {

TEST(ByteBudget, RefusesWhatIsNotLeft) {
  ByteBudget budget(100);
  const auto most = budget.try_reserve(99);

  EXPECT_NE(most, nullptr);
  EXPECT_EQ(budget.try_reserve(2), nullptr);
  EXPECT_NE(budget.try_reserve(1), nullptr);
}

TEST(ByteBudget, WhatIsGivenBackCanBeReservedAgain) {
  ByteBudget budget(100);
  budget.try_reserve(100).reset();
  const auto some = budget.try_reserve(100);
  EXPECT_EQ(budget.try_reserve(1), nullptr);

  some->shrink_to(30);
  EXPECT_EQ(budget.try_reserve(71), nullptr);
  some->shrink_to(50);  // no growth
  EXPECT_NE(budget.try_reserve(70), nullptr);
}

TEST(ByteBudget, LosesNothingAmongThreads) {
  ByteBudget budget(8);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&budget] {
      for (int n = 0; n < 1000; ++n) {
        const auto held = budget.try_reserve(3);
        if (held != nullptr) held->shrink_to(1);
      }
    });
  }
  threads.clear();

  EXPECT_NE(budget.try_reserve(8), nullptr);
}

}  // namespace
}  // namespace tessera::fetch
