// The one table of settings. A setting's key gives its other names: `limits.images_max` is
// `images_max` in the [limits] table of the file, TESSERA_LIMITS_IMAGES_MAX in the environment and
// --limits-images-max on the command line.
//
// Constant data; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/setting_value.h"

namespace tessera::cli {

/// In the order of the documents. `ask` and `plan` take flags of the first two, `serve` of all.
enum class SettingGroup { kModel, kMedia, kEngine, kCache, kServer, kSources, kLimits };

struct SettingDefinition {
  std::string_view key;
  SettingGroup group;
  SettingField (*field)(Settings& settings);
  SettingBounds bounds;
  std::string_view unit;          // of a plain number; empty for the others
  std::string_view default_text;  // when the value alone does not say it: "the bundled model"
  std::string_view help;          // one line, no full stop at its end
  std::string_view reason;        // why this default; for limits, as in core/limits.h
};

std::span<const SettingDefinition> setting_table();

/// "Model", …
std::string_view group_title(SettingGroup group);

/// "--limits-images-max".
std::string flag_name(const SettingDefinition& setting);

/// "TESSERA_LIMITS_IMAGES_MAX".
std::string variable_name(const SettingDefinition& setting);

enum class DefaultUnit { kNo, kYes };

/// What people read as the default: `default_text`, or the value.
std::string default_text(const SettingDefinition& setting, DefaultUnit unit);

/// The name in `names` that is closest to a mistyped one, if one is close.
std::optional<std::string> closest_name(std::string_view name, std::span<const std::string> names);

/// The text of docs/configuration.md.
std::string configuration_markdown();

}  // namespace tessera::cli
