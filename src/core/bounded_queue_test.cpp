#include "core/bounded_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace tessera {
namespace {

TEST(BoundedQueue, RefusesWhenFullAndKeepsTheItem) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  ASSERT_TRUE(queue.try_push(std::make_unique<int>(1)));

  auto second = std::make_unique<int>(2);
  EXPECT_FALSE(queue.try_push(std::move(second)));

  ASSERT_NE(second, nullptr);  // NOLINT(bugprone-use-after-move): the contract under test
  EXPECT_EQ(*second, 2);
}

TEST(BoundedQueue, PopsInOrder) {
  BoundedQueue<int> queue(3);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.try_push(int{i}));

  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.pop({}), i);
}

TEST(BoundedQueue, DrainsAfterCloseAndThenEnds) {
  BoundedQueue<int> queue(2);
  ASSERT_TRUE(queue.try_push(1));
  queue.close();

  EXPECT_FALSE(queue.try_push(2));
  EXPECT_EQ(queue.pop({}), 1);
  EXPECT_EQ(queue.pop({}), std::nullopt);
}

TEST(BoundedQueue, PushWaitsForRoom) {
  BoundedQueue<int> queue(1);
  ASSERT_TRUE(queue.try_push(1));
  std::jthread producer([&queue] { EXPECT_TRUE(queue.push(2, {})); });

  EXPECT_EQ(queue.pop({}), 1);
  EXPECT_EQ(queue.pop({}), 2);
}

TEST(BoundedQueue, StopEndsAWaitingPopAndAWaitingPush) {
  BoundedQueue<int> empty(1);
  BoundedQueue<int> full(1);
  ASSERT_TRUE(full.try_push(1));
  std::stop_source stop;
  std::jthread popper([&] { EXPECT_EQ(empty.pop(stop.get_token()), std::nullopt); });
  std::jthread pusher([&] { EXPECT_FALSE(full.push(2, stop.get_token())); });

  stop.request_stop();
}

TEST(BoundedQueue, CloseEndsAWaitingPopAndAWaitingPush) {
  BoundedQueue<int> empty(1);
  BoundedQueue<int> full(1);
  ASSERT_TRUE(full.try_push(1));
  std::jthread popper([&] { EXPECT_EQ(empty.pop({}), std::nullopt); });
  std::jthread pusher([&] { EXPECT_FALSE(full.push(2, {})); });

  empty.close();
  full.close();
}

TEST(BoundedQueue, WakeEndsTheWaitThatRunsOrTheNextOne) {
  constexpr std::chrono::hours kForEver{1};
  BoundedQueue<int> queue(1);
  queue.wake();
  EXPECT_EQ(queue.pop_or_wake({}, kForEver), std::nullopt);

  std::jthread waker([&] { queue.wake(); });
  EXPECT_EQ(queue.pop_or_wake({}, kForEver), std::nullopt);

  ASSERT_TRUE(queue.try_push(1));
  EXPECT_EQ(queue.pop_or_wake({}, kForEver), 1);
  EXPECT_EQ(queue.pop_or_wake({}, std::chrono::milliseconds(1)), std::nullopt) << "nobody wakes it";
}

}  // namespace
}  // namespace tessera
