#include "emit/utf8_assembler.h"

namespace tessera::emit {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

void Utf8Assembler::feed(std::string_view bytes, std::string& out) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (n_missing_ == 0) {
      begin_character(byte, out);
    } else if (byte < low_ || byte > high_) {
      finish(out);
      begin_character(byte, out);
    } else {
      partial_ += c;
      low_ = 0x80;
      high_ = 0xBF;
      if (--n_missing_ == 0) {
        out += partial_;
        partial_.clear();
      }
    }
  }
}

void Utf8Assembler::finish(std::string& out) {
  if (n_missing_ > 0) out += kReplacement;
  partial_.clear();
  n_missing_ = 0;
}

void Utf8Assembler::begin_character(unsigned char byte, std::string& out) {
  low_ = 0x80;
  high_ = 0xBF;
  if (byte < 0x80) {
    out += static_cast<char>(byte);
    return;
  }
  if (byte >= 0xC2 && byte <= 0xDF) {
    n_missing_ = 1;
  } else if (byte >= 0xE0 && byte <= 0xEF) {
    n_missing_ = 2;
    if (byte == 0xE0) low_ = 0xA0;   // shorter forms exist below
    if (byte == 0xED) high_ = 0x9F;  // surrogates above
  } else if (byte >= 0xF0 && byte <= 0xF4) {
    n_missing_ = 3;
    if (byte == 0xF0) low_ = 0x90;   // shorter forms exist below
    if (byte == 0xF4) high_ = 0x8F;  // nothing above U+10FFFF
  } else {
    out += kReplacement;
    return;
  }
  partial_ = static_cast<char>(byte);
}

}  // namespace tessera::emit
