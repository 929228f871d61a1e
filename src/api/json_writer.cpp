#include "api/json_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace tessera::api {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// ASCII that stands for itself.
bool is_plain(char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Length of the UTF-8 character at the start of `text`; 0 when there is none.
/// @source  Unicode 15, table 3-7
std::size_t character_bytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  std::size_t n = 0;
  if (lead >= 0xC2 && lead <= 0xDF) n = 2;
  if (lead >= 0xE0 && lead <= 0xEF) n = 3;
  if (lead >= 0xF0 && lead <= 0xF4) n = 4;
  if (n == 0 || text.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second > 0x9F;
  const bool beyond = lead == 0xF4 && second > 0x8F;
  return overlong || surrogate || beyond ? 0 : n;
}

void append_control(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4U];
      out += kHex[static_cast<unsigned char>(c) & 0xFU];
  }
}

}  // namespace

void JsonWriter::separate() {
  if (needs_comma_) text_ += ',';
  needs_comma_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view value) {
  separate();
  text_ += value;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  text_ += '"';
  text_ += name;
  text_ += "\":";
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  separate();
  text_ += '"';
  while (!value.empty()) {
    const auto* plain_end = std::find_if_not(value.begin(), value.end(), is_plain);
    const auto n_plain = static_cast<std::size_t>(plain_end - value.begin());
    text_ += value.substr(0, n_plain);
    value.remove_prefix(n_plain);
    if (value.empty()) break;
    const char c = value.front();
    std::size_t n = 1;
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      append_control(text_, c);
    } else if ((n = character_bytes(value)) == 0) {
      text_ += kReplacement;
      n = 1;
    } else {
      text_ += value.substr(0, n);
    }
    value.remove_prefix(n);
  }
  text_ += '"';
  return *this;
}

JsonWriter& JsonWriter::number(std::int64_t value) {
  return raw(std::to_string(value));
}

JsonWriter& JsonWriter::seconds(double value) {
  if (!std::isfinite(value)) return null();
  std::array<char, 64> buffer{};
  // Beyond this it is no time of ours, and would not fit.
  constexpr double kLargest = 1e15;
  value = std::fmin(std::fmax(value, -kLargest), kLargest);
  const auto end = std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::fixed, 6);
  return raw({buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data())});
}

JsonWriter& JsonWriter::real(float value) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  if (std::isnan(value)) return null();
  value = std::fmin(std::fmax(value, -kLargest), kLargest);
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.begin(), buffer.end(), value);
  return raw({buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data())});
}

}  // namespace tessera::api
