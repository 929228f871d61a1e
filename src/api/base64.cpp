#include "api/base64.h"

#include <array>

namespace tessera::api {
namespace {

constexpr std::uint8_t kNoDigit = 0xFF;

constexpr std::array<std::uint8_t, 256> make_digits() {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return digits;
}

constexpr std::array<std::uint8_t, 256> kDigits = make_digits();

std::uint8_t digit_of(char c) {
  return kDigits[static_cast<unsigned char>(c)];
}

/// Whole groups without padding: the bulk of every image.
/// @return  how many characters were decoded
std::size_t feed_groups(std::string_view text, std::string& out) {
  const std::size_t old_size = out.size();
  out.resize(old_size + text.size() / 4 * 3);
  char* to = out.data() + old_size;
  std::size_t i = 0;
  for (; text.size() - i >= 4; i += 4) {
    const std::uint32_t a = digit_of(text[i]);
    const std::uint32_t b = digit_of(text[i + 1]);
    const std::uint32_t c = digit_of(text[i + 2]);
    const std::uint32_t d = digit_of(text[i + 3]);
    if (((a | b | c | d) & 0xC0U) != 0) break;
    const std::uint32_t group = a << 18U | b << 12U | c << 6U | d;
    *to++ = static_cast<char>(group >> 16U & 0xFFU);
    *to++ = static_cast<char>(group >> 8U & 0xFFU);
    *to++ = static_cast<char>(group & 0xFFU);
  }
  out.resize(old_size + i / 4 * 3);
  return i;
}

void append_byte(std::string& out, std::uint32_t value) {
  out.push_back(static_cast<char>(static_cast<unsigned char>(value & 0xFFU)));
}

}  // namespace

bool Base64Decoder::feed(std::string_view text, std::string& out) {
  std::size_t i = 0;
  while (ok_ && i < text.size()) {
    if (n_digits_ == 0 && !ended_) {
      i += feed_groups(text.substr(i), out);
      if (i == text.size()) break;
    }
    ok_ = feed_one(text[i++], out);
  }
  return ok_;
}

bool Base64Decoder::feed_one(char c, std::string& out) {
  if (ended_) return false;
  if (c == '=') {
    if (n_digits_ < 2) return false;
    ++n_padding_;
    group_ <<= 6U;
  } else {
    const std::uint8_t digit = digit_of(c);
    if (digit == kNoDigit || n_padding_ > 0) return false;
    group_ = group_ << 6U | digit;
  }
  if (++n_digits_ < 4) return true;
  const int n_bytes = 3 - n_padding_;
  // Bits behind the last byte must be zero, so that each byte string has one spelling.
  const std::uint32_t unused =
      group_ & ((std::uint32_t{1} << (8U * static_cast<unsigned>(n_padding_))) - 1U);
  if (unused != 0) return false;
  for (int i = 0; i < n_bytes; ++i) append_byte(out, group_ >> static_cast<unsigned>(16 - 8 * i));
  ended_ = n_padding_ > 0;
  group_ = 0;
  n_digits_ = 0;
  n_padding_ = 0;
  return true;
}

}  // namespace tessera::api
