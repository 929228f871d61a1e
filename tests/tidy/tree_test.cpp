// Runs every rule over the files that git knows.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tidy/code_rules.h"
#include "tidy/include_rules.h"
#include "tidy/size_rules.h"
#include "tidy/tree_rules.h"
#include "tidy/word_rules.h"

namespace tessera::tidy {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = TESSERA_SOURCE_DIR;

/// Paths of tracked files that are on disk.
std::vector<std::string> tracked_paths() {
  // The folder may belong to another user than the one who builds.
  const std::string command =
      "git -c safe.directory='*' -C '" + kRoot.string() + "' ls-files -z 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  std::string listed;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 1; pipe != nullptr && n > 0;) {
    n = std::fread(buffer.data(), 1, buffer.size(), pipe.get());
    listed.append(buffer.data(), n);
  }
  std::vector<std::string> paths;
  std::istringstream rest(listed);
  for (std::string path; std::getline(rest, path, '\0');) {
    if (fs::is_regular_file(kRoot / path)) paths.push_back(path);
  }
  return paths;
}

bool is_text(const std::string& path) {
  static const std::set<std::string> kBinary{".gguf", ".png", ".jpg", ".jpeg", ".webp",
                                             ".gif",  ".bin", ".icc", ".pdf",  ".safetensors"};
  return !kBinary.contains(fs::path(path).extension());
}

const std::vector<SourceFile>& tree() {
  static const std::vector<SourceFile> kFiles = [] {
    std::vector<SourceFile> files;
    for (const std::string& path : tracked_paths()) {
      SourceFile file{path, ""};
      if (is_text(path)) {
        std::ostringstream text;
        text << std::ifstream(kRoot / path, std::ios::binary).rdbuf();
        file.text = text.str();
      }
      files.push_back(std::move(file));
    }
    return files;
  }();
  return kFiles;
}

std::set<std::string, std::less<>> tree_paths() {
  std::set<std::string, std::less<>> paths;
  for (const SourceFile& file : tree()) paths.insert(file.path);
  return paths;
}

void expect_none(const Findings& findings) {
  for (const Finding& finding : findings) ADD_FAILURE() << finding;
}

template <typename Rule>
void expect_none_in_tree(Rule rule) {
  for (const SourceFile& file : tree()) expect_none(rule(file));
}

Layers layers() {
  for (const SourceFile& file : tree()) {
    Findings findings;
    if (file.path == "src/layers.txt") return parse_layers(file.text, findings);
  }
  return {};
}

TEST(Tree, IsListedByGit) {
  ASSERT_GT(tree().size(), 50U) << "is this a git checkout?";
}

TEST(Tree, LayerTableIsSound) {
  for (const SourceFile& file : tree()) {
    if (file.path != "src/layers.txt") continue;
    Findings findings;
    parse_layers(file.text, findings);
    expect_none(findings);
  }
  EXPECT_FALSE(layers().empty());
}

TEST(Tree, ExplainsEveryErrorReason) {
  std::string document;
  for (const SourceFile& file : tree()) {
    if (file.path == "docs/errors.md") document = file.text;
  }
  expect_none_in_tree([&document](const SourceFile& file) {
    const bool ours = file.path.starts_with("src/") && !file.path.ends_with("_test.cpp") &&
                      !file.path.starts_with("src/runtime/fake/");
    return ours ? check_documented_reasons(file, document) : Findings{};
  });
}

TEST(Tree, IncludesOnlyDownwards) {
  const Layers table = layers();
  expect_none_in_tree([&table](const SourceFile& file) { return check_layers(file, table); });
}

TEST(Tree, KeepsThirdPartyHeadersInTheirPlace) {
  expect_none_in_tree(check_third_party);
}

TEST(Tree, HasALayerForEachFolder) {
  expect_none(check_folders(tree(), layers()));
}

TEST(Tree, HasNoOrphanHeaders) {
  expect_none(check_orphan_headers(tree()));
}

TEST(Tree, HasNoOversizedFilesFunctionsOrLines) {
  expect_none_in_tree(check_sizes);
}

TEST(Tree, HeadersSayWhatTheyAreFor) {
  expect_none_in_tree(check_header_start);
}

TEST(Tree, UsesTheWordsOfTheGlossary) {
  expect_none_in_tree(check_words);
}

TEST(Tree, HasNoEmptyNames) {
  expect_none_in_tree(check_file_name);
}

TEST(Tree, NamesAnIssueForUnfinishedWork) {
  expect_none_in_tree(check_todos);
}

TEST(Tree, KnowsNoSingleMachine) {
  expect_none_in_tree(check_absolute_paths);
}

TEST(Tree, NamesNoPackageRegistry) {
  expect_none_in_tree(check_registry_hosts);
}

TEST(Tree, HasNoCodeWithABetterReplacement) {
  expect_none_in_tree(check_code);
}

TEST(Tree, HasATestBesideEachSource) {
  expect_none(check_neighbour_tests(tree()));
}

TEST(Tree, DocumentsNameWhatExists) {
  const auto known = known_identifiers(tree());
  const auto paths = tree_paths();
  for (const SourceFile& file : tree()) {
    if (file.path != "ARCHITECTURE.md" && file.path != "docs/glossary.md") continue;
    expect_none(check_documented_names(file, known, paths));
  }
}

TEST(Tree, LinksLeadSomewhere) {
  const auto paths = tree_paths();
  for (const SourceFile& file : tree()) {
    if (file.path.ends_with(".md")) expect_none(check_links(file, paths));
  }
}

TEST(Tree, HoldsNothingLargeButModels) {
  for (const SourceFile& file : tree()) {
    expect_none(check_blob(file.path, fs::file_size(kRoot / file.path)));
  }
}

}  // namespace
}  // namespace tessera::tidy
