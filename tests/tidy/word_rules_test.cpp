#include "tidy/word_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::tidy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Findings words_in(const std::string& text, const std::string& path = "src/core/a.cpp") {
  return check_words({path, text});
}

TEST(WordRule, FindsBannedWordsInIdentifiers) {
  EXPECT_THAT(
      words_in("int n_slots;\nvoid runTask();\n"),
      ElementsAre(Finding{"src/core/a.cpp", 1, "\"n_slots\": say sequence (docs/glossary.md)"},
                  Finding{"src/core/a.cpp", 2, "\"runTask\": say request (docs/glossary.md)"}));
}

TEST(WordRule, FindsBannedWordsInComments) {
  EXPECT_EQ(words_in("int a;  // the job's context\n").size(), 1U);
}

TEST(WordRule, LeavesStringsAndOtherWordsAlone) {
  EXPECT_THAT(words_in("f(\"job\"); int context; int jobless; int multitasking;\n"), IsEmpty());
}

TEST(WordRule, NamesThatOthersGaveAreAllowed) {
  EXPECT_THAT(words_in("mtmd_input_chunk* a; llama_ctx b = GGML_N_TASKS_MAX; auto c = "
                       "DecodeStatus::kNoKvSlot;\n"),
              IsEmpty());
}

TEST(WordRule, FieldsOfTheLibraryAreAllowedWhereItIsUsed) {
  EXPECT_THAT(words_in("params.n_ctx = 1;\n", "src/runtime/llama/a.cpp"), IsEmpty());
  EXPECT_EQ(words_in("params.n_ctx = 1;\n").size(), 1U);
  EXPECT_EQ(words_in("int n_ctx = 1;\n", "src/runtime/llama/a.cpp").size(), 1U);
}

TEST(WordRule, SomeWordsAreBannedOnlyWhereTheyMislead) {
  EXPECT_THAT(words_in("int chunk;\n", "src/api/a.cpp"), IsEmpty());
  EXPECT_EQ(words_in("int chunk;\n", "src/prompt/a.cpp").size(), 1U);
  EXPECT_EQ(words_in("int iterations;\n", "src/generate/a.cpp").size(), 1U);
}

TEST(WordRule, LooksAtCodeOnly) {
  EXPECT_THAT(words_in("a job\n", "docs/a.md"), IsEmpty());
}

TEST(FileNameRule, FindsNamesThatSayNothing) {
  EXPECT_EQ(check_file_name({"src/core/string_utils.h", ""}).size(), 1U);
  EXPECT_EQ(check_file_name({"src/helpers/a.h", ""}).size(), 1U);
  EXPECT_THAT(check_file_name({"src/core/utf8.h", ""}), IsEmpty());
  EXPECT_THAT(check_file_name({"third_party/utils/a.h", ""}), IsEmpty());
}

TEST(TodoRule, UnfinishedWorkNamesItsIssue) {
  EXPECT_THAT(check_todos({"a.cpp", "// TODO(#12): later\n"}), IsEmpty());
  EXPECT_THAT(check_todos({"a.cpp", "f(\"TODO\");\n"}), IsEmpty());
  EXPECT_THAT(check_todos({"a.cpp", "\n// TODO: later\n"}),
              ElementsAre(Finding{"a.cpp", 2, "TODO: write TODO(#issue), or do it"}));
  EXPECT_EQ(check_todos({"a.cpp", "// FIXME(#1)\n// XXX\n// a HACK\n"}).size(), 3U);
}

TEST(PathRule, FindsPathsOfOneMachine) {
  EXPECT_THAT(check_absolute_paths({"a.sh", "x\ncd /home/me\n"}),
              ElementsAre(Finding{"a.sh", 2, "/home exists on one machine only"}));
  for (const char* text : {"\"/tmp/x\"", "a=/root", "`/work/there`", "(/Users/me)", "cp a /tmp"}) {
    EXPECT_EQ(check_absolute_paths({"a.cpp", text}).size(), 1U) << text;
  }
}

TEST(PathRule, LeavesOtherPathsAlone) {
  for (const char* text : {"/usr/include", "src/work/a", "/dev/null", "https://x.org/home/y",
                           "./tmp/x", "/homes/a", "/workflow"}) {
    EXPECT_THAT(check_absolute_paths({"a.md", text}), IsEmpty()) << text;
  }
}

TEST(RegistryRule, FindsHostNamesOutsideLockFiles) {
  EXPECT_EQ(check_registry_hosts({"x", "curl https://registry.npmjs.org/a\n"}).size(), 1U);
  EXPECT_THAT(check_registry_hosts({"a/package-lock.json", "https://registry.npmjs.org/a\n"}),
              IsEmpty());
  EXPECT_THAT(check_registry_hosts({"README.md", "https://github.com/a\n"}), IsEmpty());
}

}  // namespace
}  // namespace tessera::tidy
