// One setting's value as text: parsed with its bounds, printed as TOML. Pure; any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "cli/settings.h"
#include "core/result.h"

namespace tessera::cli {

/// Where a setting is kept; the type decides what its text looks like.
using SettingField = std::variant<std::string*,                // any text
                                  int*,                        // whole number
                                  std::int64_t*,               // whole number
                                  std::size_t*,                // bytes: 512, 16KiB, 20MiB, 1GiB
                                  std::chrono::milliseconds*,  // 500ms, 30s, 5min, 1h
                                  LogLevel*, LogFormat*,
                                  bool*>;  // true or false

/// Inclusive; in bytes for sizes and milliseconds for durations.
struct SettingBounds {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// @errors  invalid_argument (`bad_setting`); the message does not name the setting
Result<void> parse_value(std::string_view text, const SettingField& field,
                         const SettingBounds& bounds);

/// As it stands in a TOML file: strings, sizes and durations quoted, numbers bare.
std::string toml_value(const SettingField& field);

/// "a whole number", "a size like 20MiB", …
std::string_view expected_form(const SettingField& field);

/// "20MiB", "16KiB", "1000B".
std::string size_text(std::uint64_t bytes);

/// A TOML basic string, quoted and escaped.
std::string toml_string(std::string_view text);

}  // namespace tessera::cli
