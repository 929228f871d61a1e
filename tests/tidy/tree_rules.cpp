#include "tidy/tree_rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <regex>

#include "tidy/include_rules.h"
#include "tidy/source_text.h"

namespace tessera::tidy {
namespace {

using Names = std::set<std::string, std::less<>>;

constexpr std::uintmax_t kBlobBytesMax = std::uintmax_t{1} << 20U;

struct Untested {
  std::string_view path;
  std::string_view reason;
};

// Sources that cannot have a test of their own; each with its reason. Keep it short.
constexpr std::array<Untested, 0> kUntested{};

bool is_excepted(std::string_view path) {
  return std::ranges::any_of(kUntested, [path](const Untested& row) { return row.path == path; });
}

/// A file, or a folder that holds one.
bool exists(const std::string& path, const Names& paths) {
  const std::string folder = path.ends_with('/') ? path : path + "/";
  const auto next = paths.lower_bound(folder);
  return path.empty() || paths.contains(path) || (next != paths.end() && next->starts_with(folder));
}

/// What a document's name must be found as: the last part of a::b(), or nothing when the text is
/// no name of ours.
std::string name_in(const std::string& quoted) {
  static const std::regex kName(R"(^(?:\w+::)*(~?[A-Za-z_]\w*)(\(\))?$)");
  std::smatch match;
  if (!std::regex_match(quoted, match, kName) || quoted.starts_with("std::")) return "";
  const std::string name = match[1].str();
  const bool has_upper = std::ranges::any_of(name, [](unsigned char c) { return std::isupper(c); });
  const bool has_lower = std::ranges::any_of(name, [](unsigned char c) { return std::islower(c); });
  const bool is_variable = name.starts_with("TESSERA_") || name.starts_with("F_");
  const bool looks_ours = match[2].matched || quoted.find("::") != std::string::npos ||
                          name.find('_') != std::string::npos || (has_upper && has_lower);
  return looks_ours && !is_variable ? name : "";
}

bool is_path(const std::string& quoted) {
  static const std::regex kPath(R"(^[\w./-]+/[\w.-]+\.(h|cpp|md|txt|cmake|json)$)");
  return std::regex_match(quoted, kPath);
}

}  // namespace

Findings check_neighbour_tests(const std::vector<SourceFile>& files) {
  Names paths;
  for (const SourceFile& file : files) paths.insert(file.path);
  Findings findings;
  for (const std::string& path : paths) {
    if (!path.starts_with("src/") || !path.ends_with(".cpp")) continue;
    if (is_test(path) || is_main(path) || is_excepted(path)) continue;
    const std::string test = path.substr(0, path.size() - 4) + "_test.cpp";
    if (!paths.contains(test)) findings.push_back({path, 0, "has no " + test});
  }
  return findings;
}

Findings check_documented_names(const SourceFile& document, const Names& known,
                                const Names& paths) {
  Findings findings;
  static const std::regex kQuoted("`([^`\n]+)`");
  const auto lines = lines_of(document.text);
  bool in_block = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line(lines[i]);
    if (line.starts_with("```")) in_block = !in_block;
    if (in_block) continue;
    for (std::sregex_iterator match(line.begin(), line.end(), kQuoted), end; match != end;
         ++match) {
      const std::string quoted = (*match)[1].str();
      const std::string name = name_in(quoted);
      const bool lost_name = !name.empty() && !known.contains(name);
      const bool lost_path =
          is_path(quoted) && !exists(quoted, paths) && !exists("src/" + quoted, paths);
      if (!lost_name && !lost_path) continue;
      findings.push_back(
          {document.path, static_cast<int>(i) + 1, "`" + quoted + "` does not exist"});
    }
  }
  return findings;
}

Findings check_documented_reasons(const SourceFile& file, std::string_view errors_document) {
  static const std::regex kReason(
      R"rx((?:make_error\(\s*ErrorCode::k\w+,|invalid(?:_at)?\((?:\w+,)?)\s*"([a-z_0-9]+)")rx");
  Findings findings;
  for (std::sregex_iterator match(file.text.begin(), file.text.end(), kReason), end; match != end;
       ++match) {
    const std::string reason = (*match)[1].str();
    if (errors_document.find("`" + reason + "`") != std::string_view::npos) continue;
    findings.push_back({file.path, 0, "docs/errors.md does not explain " + reason});
  }
  return findings;
}

Findings check_links(const SourceFile& document, const Names& paths) {
  Findings findings;
  static const std::regex kLink(R"(\]\(([^)\s]+)\))");
  const std::filesystem::path folder = std::filesystem::path(document.path).parent_path();
  const auto lines = lines_of(document.text);
  bool in_block = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line(lines[i]);
    if (line.starts_with("```")) in_block = !in_block;
    if (in_block) continue;
    for (std::sregex_iterator match(line.begin(), line.end(), kLink), end; match != end; ++match) {
      const std::string target = (*match)[1].str();
      if (target.find(':') != std::string::npos || target.starts_with('#')) continue;
      const std::string file = target.substr(0, target.find('#'));
      const std::string path = (folder / file).lexically_normal().string();
      if (exists(path == "." ? "" : path, paths)) continue;
      findings.push_back({document.path, static_cast<int>(i) + 1, target + " does not exist"});
    }
  }
  return findings;
}

Findings check_blob(std::string_view path, std::uintmax_t size_bytes) {
  if (size_bytes <= kBlobBytesMax || path.starts_with("models/")) return {};
  return {{std::string(path), 0,
           std::to_string(size_bytes) + " bytes exceed " + std::to_string(kBlobBytesMax)}};
}

Names known_identifiers(const std::vector<SourceFile>& files) {
  Names known;
  for (const SourceFile& file : files) {
    if (!is_cpp(file.path) || !file.path.starts_with("src/")) continue;
    // Code and strings are what is no comment.
    const SourceText parts = take_apart(file.text);
    std::string text = file.text;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (parts.comments[i] != ' ') text[i] = parts.comments[i] == '\n' ? '\n' : ' ';
    }
    for (Word& word : identifiers(text)) known.insert(std::move(word.text));
    known.insert(folder_of(file.path));
  }
  return known;
}

}  // namespace tessera::tidy
