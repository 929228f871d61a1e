// What a rule says about a file, and the files that rules look at. Values; any thread.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tidy {

struct SourceFile {
  std::string path;  // relative to the root of the tree, with "/"
  std::string text;
};

struct Finding {
  std::string path;
  int line = 0;  // from 1; 0 = the whole file
  std::string message;
  friend bool operator==(const Finding&, const Finding&) = default;
};

using Findings = std::vector<Finding>;

inline std::ostream& operator<<(std::ostream& out, const Finding& finding) {
  out << finding.path << ':';
  if (finding.line > 0) out << finding.line << ':';
  return out << ' ' << finding.message;
}

inline bool is_cpp(std::string_view path) {
  return path.ends_with(".cpp") || path.ends_with(".h");
}
inline bool is_header(std::string_view path) {
  return path.ends_with(".h");
}
inline bool is_test(std::string_view path) {
  return path.ends_with("_test.cpp");
}
/// What several tests of a folder share.
inline bool is_test_header(std::string_view path) {
  return is_header(path) && path.substr(path.rfind('/') + 1).starts_with("test_");
}
inline bool is_main(std::string_view path) {
  return path.ends_with("/main.cpp") || path.ends_with("_main.cpp");
}

/// Samples of what rules forbid are in here, and the words they look for.
inline bool is_tidy(std::string_view path) {
  return path.starts_with("tests/tidy/");
}

}  // namespace tessera::tidy
