#include "core/check.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Check, PassesWhenTheConditionHolds) {
  TSR_CHECK(1 + 1 == 2);
  TSR_DCHECK(1 + 1 == 2);
}

TEST(CheckDeathTest, AbortsWithTheConditionInItsMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(TSR_CHECK(1 + 1 == 3), "1 \\+ 1 == 3");
}

#ifdef NDEBUG
TEST(Bug, IsCountedAndSurvivedInRelease) {
  const auto before = bug_count();

  TSR_BUG("a test's own");

  EXPECT_EQ(bug_count(), before + 1);
}
#else
TEST(BugDeathTest, AbortsInDebug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(TSR_BUG("a test's own"), "a test's own");
}
#endif

}  // namespace
}  // namespace tessera
