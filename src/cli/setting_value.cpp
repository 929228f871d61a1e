#include "cli/setting_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace tessera::cli {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

// Largest first, so that printing takes the first one that divides.
constexpr std::array<Unit, 4> kSizeUnits{{
    {"GiB", std::int64_t{1} << 30},
    {"MiB", std::int64_t{1} << 20},
    {"KiB", std::int64_t{1} << 10},
    {"B", 1},
}};
constexpr std::array<Unit, 4> kDurationUnits{{
    {"h", 3'600'000},
    {"min", 60'000},
    {"s", 1'000},
    {"ms", 1},
}};

Error bad_value(std::string message) {
  return make_error(ErrorCode::kInvalidArgument, "bad_setting", std::move(message));
}

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

/// The number at the start of `text`, and what follows it.
std::optional<std::pair<std::int64_t, std::string_view>> leading_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{}) return std::nullopt;
  return std::pair{number, text.substr(static_cast<std::size_t>(end - text.data()))};
}

/// @param bare  what a number without a unit counts; empty = a unit is needed
std::optional<std::int64_t> parse_with_unit(std::string_view text, std::span<const Unit> units,
                                            std::string_view bare) {
  const auto parts = leading_number(text);
  if (!parts) return std::nullopt;
  const std::string_view name = parts->second.empty() ? bare : parts->second;
  const auto unit = std::ranges::find(units, name, &Unit::name);
  if (unit == units.end()) return std::nullopt;
  std::int64_t product = 0;
  if (__builtin_mul_overflow(parts->first, unit->factor, &product)) return std::nullopt;
  return product;
}

std::string with_unit(std::int64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) {
      return std::to_string(value / unit.factor) + std::string(unit.name);
    }
  }
  return std::to_string(value) + std::string(units.back().name);
}

std::optional<std::int64_t> parse_number(std::string_view text, const SettingField& field) {
  if (std::holds_alternative<std::size_t*>(field)) return parse_with_unit(text, kSizeUnits, "B");
  if (std::holds_alternative<std::chrono::milliseconds*>(field)) {
    return parse_with_unit(text, kDurationUnits, "");
  }
  const auto parts = leading_number(text);
  if (!parts || !parts->second.empty()) return std::nullopt;
  return parts->first;
}

std::string number_text(std::int64_t value, const SettingField& field) {
  if (std::holds_alternative<std::size_t*>(field)) return with_unit(value, kSizeUnits);
  if (std::holds_alternative<std::chrono::milliseconds*>(field)) {
    return with_unit(value, kDurationUnits);
  }
  return std::to_string(value);
}

/// @param names  of the values of an enum, in its order
template <typename Enum>
Result<void> parse_name(std::string_view text, std::span<const std::string_view> names,
                        Enum& value) {
  const auto name = std::ranges::find(names, text);
  if (name != names.end()) {
    value = static_cast<Enum>(name - names.begin());
    return {};
  }
  std::string message = quoted(text) + " is not one of ";
  for (const std::string_view known : names) {
    if (known != names.front()) message += ", ";
    message += known;
  }
  return bad_value(std::move(message));
}

Result<void> parse_bool(std::string_view text, bool& value) {
  if (text != "true" && text != "false") return bad_value(quoted(text) + " is not true or false");
  value = text == "true";
  return {};
}

}  // namespace

Result<void> parse_value(std::string_view text, const SettingField& field,
                         const SettingBounds& bounds) {
  if (auto* const* target = std::get_if<std::string*>(&field)) {
    **target = text;
    return {};
  }
  if (auto* const* target = std::get_if<LogLevel*>(&field)) {
    return parse_name(text, kLogLevelNames, **target);
  }
  if (auto* const* target = std::get_if<LogFormat*>(&field)) {
    return parse_name(text, kLogFormatNames, **target);
  }
  if (auto* const* target = std::get_if<bool*>(&field)) return parse_bool(text, **target);

  const std::optional<std::int64_t> number = parse_number(text, field);
  if (!number) return bad_value(quoted(text) + " is not " + std::string(expected_form(field)));
  if (*number < bounds.min || *number > bounds.max) {
    return bad_value(number_text(*number, field) + " is not between " +
                     number_text(bounds.min, field) + " and " + number_text(bounds.max, field));
  }
  std::visit(
      [&](auto* target) {
        using Value = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<Value, bool>) {
          // Parsed above.
        } else if constexpr (std::is_same_v<Value, std::chrono::milliseconds>) {
          *target = std::chrono::milliseconds(*number);
        } else if constexpr (std::is_integral_v<Value>) {
          *target = static_cast<Value>(*number);
        }
      },
      field);
  return {};
}

std::string toml_value(const SettingField& field) {
  return std::visit(
      [&](const auto* value) -> std::string {
        using Value = std::remove_const_t<std::remove_pointer_t<decltype(value)>>;
        if constexpr (std::is_same_v<Value, std::string>) {
          return toml_string(*value);
        } else if constexpr (std::is_same_v<Value, bool>) {
          return *value ? "true" : "false";
        } else if constexpr (std::is_same_v<Value, LogLevel>) {
          return quoted(kLogLevelNames.at(static_cast<std::size_t>(*value)));
        } else if constexpr (std::is_same_v<Value, LogFormat>) {
          return quoted(kLogFormatNames.at(static_cast<std::size_t>(*value)));
        } else if constexpr (std::is_same_v<Value, std::chrono::milliseconds>) {
          return quoted(with_unit(value->count(), kDurationUnits));
        } else if constexpr (std::is_same_v<Value, std::size_t>) {
          return quoted(size_text(*value));
        } else {
          return std::to_string(*value);
        }
      },
      field);
}

std::string_view expected_form(const SettingField& field) {
  if (std::holds_alternative<std::string*>(field)) return "a text";
  if (std::holds_alternative<LogLevel*>(field)) return "a log level";
  if (std::holds_alternative<LogFormat*>(field)) return "a log format";
  if (std::holds_alternative<bool*>(field)) return "true or false";
  if (std::holds_alternative<std::size_t*>(field)) return "a size like 20MiB, 16KiB or 512";
  if (std::holds_alternative<std::chrono::milliseconds*>(field)) {
    return "a duration with its unit, like 500ms, 30s or 5min";
  }
  return "a whole number";
}

std::string size_text(std::uint64_t bytes) {
  return with_unit(static_cast<std::int64_t>(bytes), kSizeUnits);
}

std::string toml_string(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00";
      out += {kDigits[byte >> 4U], kDigits[byte & 0xFU]};
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace tessera::cli
