#include "tidy/include_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::tidy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Layers kLayers{{"core", {}},
                     {"media", {"core"}},
                     {"prompt", {"core"}},
                     {"runtime/fake", {"core"}},
                     {"pipeline", {"core", "media", "prompt"}}};

TEST(Includes, AreReadWithTheirLine) {
  const auto includes = includes_of("#pragma once\n#include <vector>\n\n#include \"core/a.h\"\n");

  ASSERT_EQ(includes.size(), 2U);
  EXPECT_EQ(includes[0].path, "vector");
  EXPECT_FALSE(includes[0].quoted);
  EXPECT_EQ(includes[1].path, "core/a.h");
  EXPECT_TRUE(includes[1].quoted);
  EXPECT_EQ(includes[1].line, 4);
}

TEST(LayerTable, IsReadFromItsFile) {
  Findings findings;

  const Layers layers = parse_layers("# who\ncore:\nmedia: core\n\napi: core media\n", findings);

  EXPECT_THAT(findings, IsEmpty());
  EXPECT_THAT(layers.at("api"), ElementsAre("core", "media"));
  EXPECT_THAT(layers.at("core"), IsEmpty());
}

TEST(LayerTable, MistakesInItAreFindings) {
  Findings findings;

  parse_layers("core\na: b\nb: a\nb:\nc: d\n", findings);

  EXPECT_THAT(findings, ElementsAre(Finding{"src/layers.txt", 1, "no \"folder: folders\""},
                                    Finding{"src/layers.txt", 4, "b twice"},
                                    Finding{"src/layers.txt", 2, "a reaches itself"},
                                    Finding{"src/layers.txt", 3, "b reaches itself"},
                                    Finding{"src/layers.txt", 5, "d is declared nowhere"}));
}

TEST(LayerRule, AllowsTheOwnFolderAndWhatTheTableSays) {
  const SourceFile file{"src/media/a.cpp",
                        "#include \"media/a.h\"\n#include \"core/b.h\"\n#include <x/y.h>\n"};

  EXPECT_THAT(check_layers(file, kLayers), IsEmpty());
}

TEST(LayerRule, FindsAStageThatIncludesAnother) {
  const SourceFile file{"src/media/a.cpp", "\n#include \"prompt/b.h\"\n"};

  EXPECT_THAT(
      check_layers(file, kLayers),
      ElementsAre(Finding{"src/media/a.cpp", 2, "media may not include prompt (src/layers.txt)"}));
}

TEST(LayerRule, FindsAnIncludeWithoutItsFolder) {
  EXPECT_EQ(check_layers({"src/media/a.cpp", "#include \"a.h\"\n"}, kLayers).size(), 1U);
}

TEST(LayerRule, OnlyTestsMayIncludeTestSupport) {
  const std::string text = "#include \"runtime/fake/fake_model.h\"\n";

  EXPECT_THAT(check_layers({"src/prompt/a_test.cpp", text}, kLayers), IsEmpty());
  EXPECT_THAT(check_layers({"src/prompt/test_a.h", text}, kLayers), IsEmpty());
  EXPECT_EQ(check_layers({"src/prompt/a.cpp", text}, kLayers).size(), 1U);
  EXPECT_EQ(check_layers({"src/prompt/a.h", text}, kLayers).size(), 1U);
}

TEST(ThirdPartyRule, KeepsEachLibraryInItsFolder) {
  EXPECT_THAT(check_third_party({"src/metrics/a.cpp", "#include <prometheus/counter.h>\n"}),
              IsEmpty());
  EXPECT_EQ(check_third_party({"src/api/a.cpp", "#include <prometheus/counter.h>\n"}).size(), 1U);
  EXPECT_EQ(check_third_party({"src/encode/a.cpp", "#include \"mtmd.h\"\n"}).size(), 1U);
  EXPECT_EQ(check_third_party({"src/encode/a.cpp", "#include <ggml-cpu.h>\n"}).size(), 1U);
  EXPECT_THAT(check_third_party({"src/runtime/llama/a.cpp", "#include <llama.h>\n"}), IsEmpty());
  EXPECT_EQ(check_third_party({"src/core/a.h", "#include <nlohmann/json.hpp>\n"}).size(), 1U);
  EXPECT_THAT(check_third_party({"src/cli/a.cpp", "#include <CLI/CLI.hpp>\n"}), IsEmpty());
}

TEST(ThirdPartyRule, HeadersOfOursMayHaveSimilarNames) {
  EXPECT_THAT(check_third_party({"src/core/a.h", "#include \"runtime/llama/llama_model.h\"\n"}),
              IsEmpty());
}

TEST(FolderRule, ComparesTheTreeWithTheTable) {
  const std::vector<SourceFile> files{
      {"src/core/a.h", ""}, {"src/odd/a.h", ""}, {"src/core/data/a.txt", ""}};

  EXPECT_THAT(check_folders(files, {{"core", {}}, {"gone", {}}}),
              ElementsAre(Finding{"src/odd", 0, "has no line in src/layers.txt"},
                          Finding{"src/layers.txt", 0, "gone has no sources"}));
}

TEST(OrphanRule, FindsAHeaderThatNobodyIncludes) {
  const std::vector<SourceFile> files{
      {"src/core/a.h", ""}, {"src/core/b.h", ""}, {"src/core/b.cpp", "#include \"core/b.h\"\n"}};

  EXPECT_THAT(check_orphan_headers(files),
              ElementsAre(Finding{"src/core/a.h", 0, "nobody includes this header"}));
}

}  // namespace
}  // namespace tessera::tidy
