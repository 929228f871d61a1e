// A C++ text taken apart just enough for rules: code, comments, lines and identifiers. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::tidy {

/// Both have the length and the lines of the original; what is left out is blank.
struct SourceText {
  std::string code;      // without comments and without what is inside quotes
  std::string comments;  // their text without the slashes and stars
};

SourceText take_apart(std::string_view text);

struct Word {
  std::string text;
  int line = 0;            // from 1
  bool is_member = false;  // after "." or "->"
};

/// Runs of letters, digits and underscores that do not start with a digit.
std::vector<Word> identifiers(std::string_view text);

/// Lines without their ends. A last line without an end counts.
std::vector<std::string_view> lines_of(std::string_view text);

/// "decodeTokenRows", "decode_token_rows", "kDecodeTokenRows" → decode, token, rows.
std::vector<std::string> words_of(std::string_view identifier);

/// UTF-8 characters.
std::size_t columns_of(std::string_view line);

int line_at(std::string_view text, std::size_t offset);

}  // namespace tessera::tidy
