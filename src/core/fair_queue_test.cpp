#include "core/fair_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

namespace tessera {
namespace {

constexpr TenantId kAnna{1};
constexpr TenantId kBen{2};
constexpr TenantId kCleo{9};

std::string drain(FairQueue<char>& queue) {
  std::string order;
  while (const auto item = queue.try_pop()) order += *item;
  return order;
}

void push(FairQueue<char>& queue, TenantId tenant, const std::string& items) {
  for (char item : items) ASSERT_TRUE(queue.try_push(tenant, std::move(item)));
}

TEST(FairQueue, ServesTenantsInTurnAndEachInOrder) {
  FairQueue<char> queue(100);
  push(queue, kAnna, "abcdef");
  push(queue, kCleo, "xyz");
  push(queue, kBen, "1");

  EXPECT_EQ(drain(queue), "a1xbyczdef");
}

TEST(FairQueue, WhoComesLaterWaitsForOneItemOfEachOther) {
  FairQueue<char> queue(100);
  push(queue, kCleo, "xxxxxxxxxx");
  EXPECT_EQ(*queue.try_pop(), 'x');
  push(queue, kAnna, "a");

  EXPECT_EQ(drain(queue).find('a'), 0U);
}

TEST(FairQueue, IsBoundedOverAllTenantsAndLeavesWhatItRefuses) {
  FairQueue<std::unique_ptr<int>> queue(2);
  auto item = std::make_unique<int>(1);
  EXPECT_TRUE(queue.try_push(kAnna, std::move(item)));
  EXPECT_TRUE(queue.try_push(kBen, std::make_unique<int>(2)));
  auto refused = std::make_unique<int>(3);

  EXPECT_FALSE(queue.try_push(kAnna, std::move(refused)));

  EXPECT_NE(refused, nullptr);  // NOLINT(bugprone-use-after-move): the contract
  EXPECT_EQ(queue.size(), 2U);
}

TEST(FairQueue, ClosedItGivesWhatIsLeftAndThenNothing) {
  FairQueue<char> queue(2);
  push(queue, kAnna, "a");
  queue.close();

  EXPECT_FALSE(queue.try_push(kBen, 'b'));
  EXPECT_EQ(*queue.pop({}), 'a');
  EXPECT_FALSE(queue.pop({}));
}

TEST(FairQueue, AWaitEndsWithAnItemOrAStop) {
  FairQueue<char> queue(2);
  std::stop_source stop;
  std::optional<char> first;
  std::optional<char> second = 'x';
  std::jthread consumer([&] {
    first = queue.pop(stop.get_token());
    second = queue.pop(stop.get_token());
  });
  push(queue, kAnna, "a");
  while (queue.size() > 0) std::this_thread::yield();

  stop.request_stop();
  consumer.join();

  EXPECT_EQ(first, 'a');
  EXPECT_FALSE(second);
}

}  // namespace
}  // namespace tessera
