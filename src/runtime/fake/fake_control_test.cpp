#include "runtime/fake/fake_control.h"

#include <gtest/gtest.h>

#include <thread>

namespace tessera::runtime::fake {
namespace {

TEST(FakeControl, FailsOnlyTheNthCallOfItsKind) {
  FakeControl control;
  control.fail(Call::kEncode, 2, Effect::kError);

  EXPECT_EQ(control.count(Call::kEncode), std::nullopt);
  EXPECT_EQ(control.count(Call::kSample), std::nullopt);
  EXPECT_EQ(control.count(Call::kEncode), Effect::kError);
  EXPECT_EQ(control.count(Call::kEncode), std::nullopt);
  EXPECT_EQ(control.n_calls(Call::kEncode), 3);
}

TEST(FakeControl, KeepsTheLastViolation) {
  FakeControl control;
  control.violation("one");
  control.violation("two");

  EXPECT_EQ(control.n_violations(), 2);
  EXPECT_EQ(control.last_violation(), "two");
}

TEST(FakeControl, HoldsASlowCallUntilItIsReleased) {
  FakeControl control;
  std::jthread caller([&] { EXPECT_TRUE(control.hold({})); });

  control.wait_until_held();
  control.release();
  caller.join();
  EXPECT_TRUE(control.hold({}));  // those to come go on at once
}

TEST(FakeControl, StopEndsASlowCall) {
  FakeControl control;
  std::stop_source stop;
  std::jthread caller(
      [&] { EXPECT_FALSE(control.hold([&stop] { return stop.stop_requested(); })); });

  control.wait_until_held();
  stop.request_stop();
}

}  // namespace
}  // namespace tessera::runtime::fake
