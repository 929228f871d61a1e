#include "tidy/word_rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <regex>
#include <span>
#include <vector>

#include "tidy/source_text.h"

namespace tessera::tidy {
namespace {

struct BannedWord {
  std::string_view word;
  std::string_view instead;
  std::vector<std::string_view> places;  // prefixes of paths; empty = everywhere
};

const std::vector<BannedWord>& banned_words() {
  static const std::vector<BannedWord> kWords{
      {"job", "request", {}},
      {"task", "request", {}},
      {"slot", "sequence", {}},
      {"ctx", "context", {}},
      // Elsewhere chunks are HTTP's, PNG's and OpenAI's.
      {"chunk",
       "segment or slice",
       {"src/prompt/", "src/encode/", "src/schedule/", "src/generate/", "src/pipeline/"}},
      {"iteration", "step", {"src/schedule/", "src/generate/"}},
      {"tick", "step", {"src/schedule/", "src/generate/"}},
  };
  return kWords;
}

// Names that others gave, in our code only because we must write them.
constexpr std::array<std::string_view, 10> kForeignPrefixes{
    "llama_", "mtmd_", "ggml_", "LLAMA_", "GGML_", "cms", "png_", "jpeg_", "SSL_", "EVP_"};

// libllama's "no KV slot" is the name of a return code that people look up in its header.
constexpr std::array<std::string_view, 1> kForeignNames{"kNoKvSlot"};

constexpr std::array<std::string_view, 7> kEmptyNames{"util", "utils",  "helper", "helpers",
                                                      "misc", "common", "stuff"};

constexpr std::array<std::string_view, 9> kRegistryHosts{
    "registry.npmjs.org", "registry.yarnpkg.com", "pypi.org",     "files.pythonhosted.org",
    "crates.io",          "proxy.golang.org",     "rubygems.org", "deb.debian.org",
    "archive.ubuntu.com"};

bool starts_with_any(std::string_view text, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [text](std::string_view p) { return text.starts_with(p); });
}

bool is_foreign(const Word& word, std::string_view path) {
  const std::string_view identifier = word.text;
  // Fields of the library's structs: params.n_ctx.
  if (word.is_member && path.starts_with("src/runtime/llama/")) return true;
  return starts_with_any(identifier, kForeignPrefixes) ||
         std::ranges::find(kForeignNames, identifier) != kForeignNames.end();
}

/// The entry that `word`, perhaps in the plural, breaks in this file.
const BannedWord* banned(std::string_view word, std::string_view path) {
  for (const BannedWord& entry : banned_words()) {
    const bool same = word == entry.word ||
                      (word.ends_with('s') && word.substr(0, word.size() - 1) == entry.word);
    if (same && (entry.places.empty() || starts_with_any(path, entry.places))) return &entry;
  }
  return nullptr;
}

void check_view(std::string_view view, const SourceFile& file, Findings& findings) {
  for (const Word& identifier : identifiers(view)) {
    if (is_foreign(identifier, file.path)) continue;
    for (const std::string& word : words_of(identifier.text)) {
      const BannedWord* entry = banned(word, file.path);
      if (entry == nullptr) continue;
      findings.push_back({file.path, identifier.line,
                          "\"" + identifier.text + "\": say " + std::string(entry->instead) +
                              " (docs/glossary.md)"});
    }
  }
}

bool is_lock_file(std::string_view path) {
  return path.ends_with("package-lock.json");
}

}  // namespace

Findings check_words(const SourceFile& file) {
  Findings findings;
  if (!is_cpp(file.path) || is_tidy(file.path)) return findings;
  const SourceText parts = take_apart(file.text);
  check_view(parts.code, file, findings);
  check_view(parts.comments, file, findings);
  std::ranges::sort(findings, {}, &Finding::line);
  return findings;
}

Findings check_file_name(const SourceFile& file) {
  Findings findings;
  if (!file.path.starts_with("src/") && !file.path.starts_with("tests/")) return findings;
  for (const Word& part : identifiers(file.path)) {
    for (const std::string& word : words_of(part.text)) {
      if (std::ranges::find(kEmptyNames, word) == kEmptyNames.end()) continue;
      findings.push_back({file.path, 0, "\"" + word + "\" says nothing: name what is inside"});
    }
  }
  return findings;
}

Findings check_todos(const SourceFile& file) {
  Findings findings;
  if (!is_cpp(file.path)) return findings;
  const SourceText parts = take_apart(file.text);
  const auto lines = lines_of(parts.comments);
  static const std::regex kMark(R"(\b(TODO|FIXME|XXX|HACK)\b(\(#\d+\))?)");
  constexpr std::array<std::string_view, 4> kMarks{"TODO", "FIXME", "XXX", "HACK"};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line(lines[i]);
    // Plain search first: the expression is slow, and almost every line has no mark.
    const auto has = [&line](std::string_view mark) {
      return line.find(mark) != std::string::npos;
    };
    if (std::ranges::none_of(kMarks, has)) continue;
    for (std::sregex_iterator mark(line.begin(), line.end(), kMark), end; mark != end; ++mark) {
      if ((*mark)[1] == "TODO" && (*mark)[2].matched) continue;
      findings.push_back({file.path, static_cast<int>(i) + 1,
                          (*mark)[1].str() + ": write TODO(#issue), or do it"});
    }
  }
  return findings;
}

Findings check_absolute_paths(const SourceFile& file) {
  Findings findings;
  if (is_tidy(file.path) || is_lock_file(file.path)) return findings;
  static const std::regex kPath(
      R"((^|[\s"'`(=:,;>\[])/(home|root|tmp|work|Users)(/|["'`\s,;)]|$))");
  const auto lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::cmatch match;
    const std::string_view line = lines[i];
    if (line.find('/') == std::string_view::npos) continue;
    if (!std::regex_search(line.data(), line.data() + line.size(), match, kPath)) continue;
    findings.push_back(
        {file.path, static_cast<int>(i) + 1, "/" + match[2].str() + " exists on one machine only"});
  }
  return findings;
}

Findings check_registry_hosts(const SourceFile& file) {
  Findings findings;
  if (is_tidy(file.path) || is_lock_file(file.path)) return findings;
  for (std::string_view host : kRegistryHosts) {
    const std::size_t at = file.text.find(host);
    if (at == std::string::npos) continue;
    findings.push_back({file.path, line_at(file.text, at), std::string(host) + " is named"});
  }
  return findings;
}

}  // namespace tessera::tidy
