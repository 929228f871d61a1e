// How large files, headers, functions and lines may be, and how a header starts. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tidy/finding.h"

namespace tessera::tidy {

inline constexpr int kFileLinesMax = 600;
inline constexpr int kHeaderLinesMax = 200;
inline constexpr int kFunctionLinesMax = 70;
inline constexpr int kColumnsMax = 100;

struct Function {
  std::string name;
  int line = 0;     // where its signature starts
  int n_lines = 0;  // signature to closing brace
};

/// The function bodies of a text that clang-format has formatted, found by their braces. Lambdas
/// belong to the function around them.
std::vector<Function> functions_of(std::string_view text);

Findings check_sizes(const SourceFile& file);

/// A header says what it is for, then `#pragma once`.
Findings check_header_start(const SourceFile& file);

}  // namespace tessera::tidy
