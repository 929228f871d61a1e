#include "tidy/tree_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::tidy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Names = std::set<std::string, std::less<>>;

TEST(NeighbourRule, FindsASourceWithoutATest) {
  const std::vector<SourceFile> files{{"src/a/one.cpp", ""},    {"src/a/one_test.cpp", ""},
                                      {"src/a/two.cpp", ""},    {"src/a/main.cpp", ""},
                                      {"src/a/x_main.cpp", ""}, {"src/a/three.h", ""},
                                      {"tests/b/four.cpp", ""}};

  EXPECT_THAT(check_neighbour_tests(files),
              ElementsAre(Finding{"src/a/two.cpp", 0, "has no src/a/two_test.cpp"}));
}

Findings names_in(const std::string& text) {
  const Names known{"Model", "decode_tokens", "step", "kStop", "tessera_bugs_total"};
  const Names paths{"src/core/limits.h", "docs/a.md"};
  return check_documented_names({"docs/x.md", text}, known, paths);
}

TEST(NameRule, FindsNamesThatDoNotExist) {
  EXPECT_THAT(names_in("a\n`Modell` and `Model`\n"),
              ElementsAre(Finding{"docs/x.md", 2, "`Modell` does not exist"}));
  for (const char* text :
       {"`decode_token`", "`Model::load()`", "`steps()`", "`core/gone.h`", "`kStopp`"}) {
    EXPECT_EQ(names_in(text).size(), 1U) << text;
  }
}

TEST(NameRule, LeavesOtherTextAlone) {
  for (const char* text :
       {"`runtime::Model`", "`decode_tokens()`", "`step`", "`steps`", "`core/limits.h`",
        "`docs/a.md`", "`tessera serve --port`", "`TESSERA_PORT`", "`std::jthread`", "Modell",
        "`./x test`", "`tessera_bugs_total`", "```\n`Modell`\n```"}) {
    EXPECT_THAT(names_in(text), IsEmpty()) << text;
  }
}

TEST(NameRule, KnowsIdentifiersOfCodeAndStringsButNotOfComments) {
  const Names known = known_identifiers(
      {{"src/a/a.cpp", "int one = f(\"two\");  // three\n"}, {"tests/a.cpp", "int four;"}});

  EXPECT_TRUE(known.contains("one"));
  EXPECT_TRUE(known.contains("two"));
  EXPECT_FALSE(known.contains("three"));
  EXPECT_FALSE(known.contains("four"));
}

TEST(ReasonRule, FindsReasonsThatNoDocumentExplains) {
  const SourceFile file{"src/a.cpp", "make_error(ErrorCode::kInternal,\n  \"odd_one\", text)"};

  EXPECT_EQ(check_documented_reasons(file, "| `even_one` |").size(), 1U);
  EXPECT_THAT(check_documented_reasons(file, "| `odd_one` |"), IsEmpty());
}

TEST(LinkRule, FindsLinksThatLeadNowhere) {
  const Names paths{"README.md", "docs/a.md", "src/core/a.h"};

  EXPECT_THAT(check_links({"docs/x.md", "\n[a](b.md)\n"}, paths),
              ElementsAre(Finding{"docs/x.md", 2, "b.md does not exist"}));
  for (const char* text :
       {"[a](a.md)", "[a](a.md#b)", "[a](../README.md)", "[a](../src/core)", "[a](#b)",
        "[a](https://x.org/y.md)", "[a](../src/core/)", "[root](..)", "```\n[a](b.md)\n```"}) {
    EXPECT_THAT(check_links({"docs/x.md", text}, paths), IsEmpty()) << text;
  }
}

TEST(BlobRule, FindsLargeFilesOutsideModels) {
  EXPECT_THAT(check_blob("docs/a.png", 1024 * 1024), IsEmpty());
  EXPECT_EQ(check_blob("docs/a.png", 1024 * 1024 + 1).size(), 1U);
  EXPECT_THAT(check_blob("models/a.gguf", 50'000'000), IsEmpty());
}

}  // namespace
}  // namespace tessera::tidy
