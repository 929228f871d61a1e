// Bytes in pieces → whole, valid UTF-8. A token may end inside a character, and a model may produce
// bytes that are no character at all. A value; one owner.
#pragma once

#include <string>
#include <string_view>

namespace tessera::emit {

class Utf8Assembler {
 public:
  /// Appends the characters that `bytes` completes to `out`. Each maximal part of an ill-formed
  /// sequence becomes one U+FFFD.
  /// @source  Unicode 15, §3.9, "U+FFFD Substitution of Maximal Subparts"; table 3-7
  void feed(std::string_view bytes, std::string& out);

  /// Appends U+FFFD to `out` when the last character is unfinished.
  void finish(std::string& out);

 private:
  void begin_character(unsigned char byte, std::string& out);

  std::string partial_;       // the character so far: at most three bytes
  int n_missing_ = 0;         // continuation bytes still to come
  unsigned char low_ = 0x80;  // range of the next one
  unsigned char high_ = 0xBF;
};

}  // namespace tessera::emit
