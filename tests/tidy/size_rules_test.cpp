#include "tidy/size_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::tidy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string repeated(const std::string& line, int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += line;
  return text;
}

std::vector<std::string> names_of(std::string_view text) {
  std::vector<std::string> names;
  for (const Function& function : functions_of(text)) names.push_back(function.name);
  return names;
}

TEST(Functions, AreFoundWithTheirLength) {
  const auto functions = functions_of(R"(#include "a.h"

namespace a {

Result<int> Model::load(
    int x) const {
  if (x) {
    y();
  }
  return [] { return 1; }();
}

}  // namespace a
)");

  ASSERT_EQ(functions.size(), 1U);
  EXPECT_EQ(functions[0].name, "Model::load");
  EXPECT_EQ(functions[0].line, 5);
  EXPECT_EQ(functions[0].n_lines, 7);
}

TEST(Functions, AreFoundInsideClasses) {
  EXPECT_THAT(names_of(R"(
class TSR_CAPABILITY("mutex") Mutex : public Base {
 public:
  Mutex(int a) : a_(a), b_{1} {
    c();
  }
  void lock() TSR_ACQUIRE() { mutex_.lock(); }
  ~Mutex() = default;

 private:
  std::atomic<int> n_{0};
  std::array<int, 2> two_ = {1, 2};
};
)"),
              ElementsAre("Mutex", "lock"));
}

TEST(Functions, TablesAndEnumsAreNone) {
  EXPECT_THAT(names_of(R"(
enum class Kind { kA, kB };
constexpr std::array kTable = std::to_array<Row>({
    {"a", [](int x) { return x; }},
});
const std::vector<int> kNumbers{1, 2};
const std::vector<int> kOthers = {f(1), 2};
#define TSR_TWICE(a) \
  do {               \
    a;               \
  } while (false)
)"),
              IsEmpty());
}

TEST(Functions, TestsAndTemplatesAreSome) {
  EXPECT_THAT(names_of(R"(
TEST(Suite, Name) {
  EXPECT_TRUE(f({1, 2}));
}

template <typename T>
T twice(T x) {
  return x + x;
}

auto trailing(int a) -> std::vector<int> {
  return {a};
}

bool operator==(const A& a, const A& b) {
  return true;
}
)"),
              ElementsAre("TEST", "twice", "trailing", ""));
}

TEST(Functions, BracesInStringsDoNotCount) {
  EXPECT_THAT(names_of("void f() {\n  g(\"}\");\n  h('{');\n}\nvoid i() {\n}\n"),
              ElementsAre("f", "i"));
}

TEST(SizeRule, FindsALongFunction) {
  const std::string good = "void f() {\n" + repeated("  g();\n", kFunctionLinesMax - 2) + "}\n";
  const std::string bad = "void f() {\n" + repeated("  g();\n", kFunctionLinesMax - 1) + "}\n";

  EXPECT_THAT(check_sizes({"src/a/a.cpp", good}), IsEmpty());
  EXPECT_THAT(check_sizes({"src/a/a.cpp", bad}),
              ElementsAre(Finding{"src/a/a.cpp", 1, "lines of f(): 71 exceeds 70"}));
}

TEST(SizeRule, FindsALongLine) {
  EXPECT_THAT(check_sizes({"a.cpp", repeated("→", kColumnsMax)}), IsEmpty());
  EXPECT_THAT(check_sizes({"a.cpp", "\n" + repeated("→", kColumnsMax + 1)}),
              ElementsAre(Finding{"a.cpp", 2, "columns: 101 exceeds 100"}));
}

TEST(SizeRule, FindsALongFile) {
  EXPECT_THAT(check_sizes({"a.cpp", repeated("\n", kFileLinesMax)}), IsEmpty());
  EXPECT_EQ(check_sizes({"a.cpp", repeated("\n", kFileLinesMax + 1)}).size(), 1U);
  EXPECT_EQ(check_sizes({"a.h", repeated("\n", kHeaderLinesMax + 1)}).size(), 1U);
}

TEST(SizeRule, LeavesOtherFilesAlone) {
  EXPECT_THAT(check_sizes({"a.json", repeated("x", 1000)}), IsEmpty());
}

TEST(HeaderRule, AHeaderSaysWhatItIsForAndIsIncludedOnce) {
  EXPECT_THAT(check_header_start({"a.h", "// What.\n#pragma once\n"}), IsEmpty());
  EXPECT_THAT(check_header_start({"a.cpp", "int a;\n"}), IsEmpty());
  EXPECT_EQ(check_header_start({"a.h", "#pragma once\n"}).size(), 2U);
  EXPECT_EQ(check_header_start({"a.h", "// What.\n#ifndef A_H\n"}).size(), 1U);
}

}  // namespace
}  // namespace tessera::tidy
