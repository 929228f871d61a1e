#include "cli/config_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace tessera::cli {
namespace {

std::string at_line(const ConfigFile& file, toml::source_index line) {
  return file.name + ":" + std::to_string(line) + ": ";
}

Error bad_setting(std::string message, std::string key = {}) {
  return make_error(ErrorCode::kInvalidArgument, "bad_setting", std::move(message), std::move(key));
}

const SettingDefinition* find_setting(std::string_view key) {
  const auto table = setting_table();
  const auto found = std::ranges::find(table, key, &SettingDefinition::key);
  return found == table.end() ? nullptr : &*found;
}

bool is_section(std::string_view key) {
  return std::ranges::any_of(setting_table(), [key](const SettingDefinition& setting) {
    return setting.key.starts_with(std::string(key) + ".");
  });
}

std::string suggestion(std::string_view key) {
  std::vector<std::string> keys;
  for (const SettingDefinition& setting : setting_table()) keys.emplace_back(setting.key);
  const auto closest = closest_name(key, keys);
  return closest ? "; did you mean \"" + *closest + "\"?" : "";
}

/// The text of a node, when its TOML type is one that the setting takes.
std::optional<std::string> node_text(const toml::node& node, const SettingField& field) {
  const bool takes_number = !std::holds_alternative<std::string*>(field) &&
                            !std::holds_alternative<LogLevel*>(field) &&
                            !std::holds_alternative<LogFormat*>(field) &&
                            !std::holds_alternative<std::chrono::milliseconds*>(field);
  const bool takes_string =
      !std::holds_alternative<int*>(field) && !std::holds_alternative<std::int64_t*>(field);
  if (const auto* boolean = node.as_boolean(); std::holds_alternative<bool*>(field)) {
    if (boolean == nullptr) return std::nullopt;
    return boolean->get() ? "true" : "false";
  }
  if (const auto* number = node.as_integer(); number != nullptr && takes_number) {
    return std::to_string(number->get());
  }
  if (const auto* string = node.as_string(); string != nullptr && takes_string) {
    return string->get();
  }
  return std::nullopt;
}

Result<void> collect(const toml::table& table, const std::string& prefix, const ConfigFile& file,
                     std::vector<FileSetting>& settings) {
  for (const auto& [toml_key, node] : table) {
    const std::string key = prefix + std::string(toml_key.str());
    const auto line = toml_key.source().begin.line;
    if (const auto* section = node.as_table(); section != nullptr && is_section(key)) {
      TSR_RETURN_IF_ERROR(collect(*section, key + ".", file, settings));
      continue;
    }
    const SettingDefinition* setting = find_setting(key);
    if (setting == nullptr) {
      return bad_setting(at_line(file, line) + "unknown setting \"" + key + "\"" + suggestion(key),
                         key);
    }
    Settings unused;
    const SettingField field = setting->field(unused);
    std::optional<std::string> text = node_text(node, field);
    if (!text) {
      return bad_setting(
          at_line(file, line) + key + " must be " + std::string(expected_form(field)), key);
    }
    settings.push_back({setting, std::move(*text), static_cast<int>(line)});
  }
  return {};
}

}  // namespace

Result<std::vector<FileSetting>> parse_config_file(const ConfigFile& file) {
  std::vector<FileSetting> settings;
  try {
    const toml::table table = toml::parse(file.text);
    TSR_RETURN_IF_ERROR(collect(table, "", file, settings));
  } catch (const toml::parse_error& error) {
    return bad_setting(at_line(file, error.source().begin.line) +
                       "not valid TOML: " + std::string(error.description()));
  }
  return settings;
}

}  // namespace tessera::cli
