#include "tidy/code_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::tidy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CodeRule, FindsWhatHasABetterReplacement) {
  for (const char* text :
       {"std::this_thread::sleep_for(1s);", "sleep_until(t);", "usleep(5);", "::sleep (1);",
        "std::thread t(f);", "std::vector<std::thread> all;", "t.detach();", "p->detach();",
        "std::queue<int> q;", "std::async(f);", "GTEST_SKIP();", "TEST(DISABLED_A, B) {",
        "TEST(A, DISABLED_B) {", "pthread_create(&t, 0, f, 0);"}) {
    EXPECT_EQ(check_code({"src/a/a.cpp", text}).size(), 1U) << text;
  }
}

TEST(CodeRule, LeavesSimilarCodeAlone) {
  for (const char* text :
       {"std::jthread t(f);", "std::this_thread::get_id();", "std::thread::hardware_concurrency();",
        "// sleep_for(1s)", "f(\"usleep(1)\");", "std::priority_queue<int> q;",
        "BoundedQueue<int> q(3);", "asleep(1);"}) {
    EXPECT_THAT(check_code({"src/a/a.cpp", text}), IsEmpty()) << text;
  }
}

TEST(CodeRule, NamesTheLineAndTheReplacement) {
  EXPECT_THAT(check_code({"a.cpp", "\nstd::queue<int> q;\n"}),
              ElementsAre(Finding{"a.cpp", 2, "std::queue: BoundedQueue has a capacity"}));
}

TEST(CodeRule, LooksAtCodeOnly) {
  EXPECT_THAT(check_code({"README.md", "std::thread\n"}), IsEmpty());
}

}  // namespace
}  // namespace tessera::tidy
