#include "tidy/code_rules.h"

#include <regex>
#include <vector>

#include "tidy/source_text.h"

namespace tessera::tidy {
namespace {

struct BannedCode {
  std::string_view key;  // part of every match: searched first, because it is much faster
  std::regex pattern;
  std::string_view advice;
};

const std::vector<BannedCode>& banned_code() {
  static const std::vector<BannedCode> kRows = [] {
    std::vector<BannedCode> rows;
    const auto ban = [&rows](std::string_view key, const char* pattern, std::string_view advice) {
      rows.push_back({key, std::regex(pattern), advice});
    };
    ban("sleep_", R"(\bsleep_(for|until)\b)", "wait for an event; in tests use ManualClock");
    ban("sleep", R"(\b(usleep|nanosleep|sleep)\s*\()",
        "wait for an event; in tests use ManualClock");
    // std::thread::hardware_concurrency() starts nothing.
    ban("std::thread", R"(\bstd::thread\b(?!::))", "a std::jthread has an owner and stops");
    ban("detach(", R"((\.|->)detach\()", "a thread has an owner: std::jthread");
    ban("pthread_create", R"(\bpthread_create\b)", "a std::jthread has an owner and stops");
    ban("std::async", R"(\bstd::async\b)", "a std::jthread has an owner and stops");
    ban("std::queue", R"(\bstd::queue\b)", "BoundedQueue has a capacity");
    ban("GTEST_SKIP", R"(\bGTEST_SKIP\b)", "a test that does not run proves nothing");
    ban("DISABLED_", R"(\bDISABLED_\w)", "a test that does not run proves nothing");
    return rows;
  }();
  return kRows;
}

}  // namespace

Findings check_code(const SourceFile& file) {
  Findings findings;
  if (!is_cpp(file.path)) return findings;
  const SourceText parts = take_apart(file.text);
  const auto lines = lines_of(parts.code);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line(lines[i]);
    for (const BannedCode& row : banned_code()) {
      std::smatch match;
      if (line.find(row.key) == std::string::npos) continue;
      if (!std::regex_search(line, match, row.pattern)) continue;
      findings.push_back(
          {file.path, static_cast<int>(i) + 1, match.str() + ": " + std::string(row.advice)});
    }
  }
  return findings;
}

}  // namespace tessera::tidy
