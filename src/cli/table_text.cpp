#include "cli/table_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <string_view>

namespace tessera::cli {
namespace {

constexpr std::array<std::string_view, 7> kDecimalPrefixes{"", "k", "M", "G", "T", "P", "E"};
constexpr std::array<std::string_view, 5> kBinaryPrefixes{"", "Ki", "Mi", "Gi", "Ti"};

std::string scaled(double value, const std::string& unit, double base,
                   std::span<const std::string_view> prefixes) {
  if (!(value > 0) || !std::isfinite(value)) return "-";
  std::size_t i = 0;
  // 999.5 would round to four digits.
  while (value >= 999.5 && i + 1 < prefixes.size()) {
    value /= base;
    ++i;
  }
  const int decimals = i == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return decimal(value, decimals) + " " + std::string(prefixes[i]) + unit;
}

}  // namespace

std::string counted(std::int64_t n, const std::string& singular) {
  return std::to_string(n) + " " + singular + (n == 1 ? "" : "s");
}

std::string right_aligned(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string left_aligned(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}

std::string decimal(double value, int decimals) {
  std::array<char, 64> buffer{};
  const int n = std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
  return {buffer.data(), std::min(static_cast<std::size_t>(n), buffer.size() - 1)};
}

std::string rule(std::size_t width) {
  std::string line;
  for (std::size_t i = 0; i < width; ++i) line += "─";
  return line;
}

std::string bar(double fraction, std::size_t width) {
  constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!(fraction > 0)) return "";
  const double eighths = std::min(fraction, 1.0) * static_cast<double>(width) * 8;
  const auto n = std::max<std::size_t>(static_cast<std::size_t>(std::lround(eighths)), 1);
  std::string text;
  for (std::size_t i = 0; i < n / 8; ++i) text += "█";
  return text.append(kEighths[n % 8]);
}

std::string with_prefix(double value, const std::string& unit) {
  return scaled(value, unit, 1000, kDecimalPrefixes);
}

std::string bytes_text(double bytes) {
  return scaled(bytes, "B", 1024, kBinaryPrefixes);
}

}  // namespace tessera::cli
