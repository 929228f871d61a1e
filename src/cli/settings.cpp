#include "cli/settings.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <utility>

#include "admission/cache_rules.h"
#include "cli/config_file.h"
#include "cli/setting_table.h"

namespace tessera::cli {
namespace {

using Kind = SettingSource::Kind;

Error bad_setting(std::string message, std::string_view key) {
  return make_error(ErrorCode::kInvalidArgument, "bad_setting", std::move(message),
                    std::string(key));
}

std::size_t index_of(const SettingDefinition& setting) {
  return static_cast<std::size_t>(&setting - setting_table().data());
}

std::size_t index_of(std::string_view key) {
  const auto table = setting_table();
  const auto found = std::ranges::find(table, key, &SettingDefinition::key);
  return static_cast<std::size_t>(found - table.begin());
}

/// Sets one value and remembers where it came from.
Result<void> assign(LoadedSettings& loaded, const SettingDefinition& setting, std::string_view text,
                    SettingSource source) {
  if (auto parsed = parse_value(text, setting.field(loaded.values), setting.bounds); !parsed) {
    return bad_setting(
        std::string(setting.key) + ": " + parsed.error().message + " (" + source.place + ")",
        setting.key);
  }
  loaded.sources[index_of(setting)] = std::move(source);
  return {};
}

Result<void> apply_file(LoadedSettings& loaded, const ConfigFile& file) {
  TSR_ASSIGN_OR_RETURN(const std::vector<FileSetting> settings, parse_config_file(file));
  for (const FileSetting& entry : settings) {
    SettingSource source{Kind::kFile, file.name + ":" + std::to_string(entry.line)};
    TSR_RETURN_IF_ERROR(assign(loaded, *entry.setting, entry.text, std::move(source)));
  }
  return {};
}

Result<void> apply_environment(LoadedSettings& loaded,
                               const std::map<std::string, std::string>& environment) {
  for (const SettingDefinition& setting : setting_table()) {
    const std::string name = variable_name(setting);
    const auto found = environment.find(name);
    if (found == environment.end() || found->second.empty()) continue;
    TSR_RETURN_IF_ERROR(assign(loaded, setting, found->second, {Kind::kEnvironment, name}));
  }
  return {};
}

Result<void> apply_flags(LoadedSettings& loaded, const std::map<std::string, std::string>& flags) {
  for (const SettingDefinition& setting : setting_table()) {
    const auto found = flags.find(std::string(setting.key));
    if (found == flags.end()) continue;
    TSR_RETURN_IF_ERROR(assign(loaded, setting, found->second, {Kind::kFlag, flag_name(setting)}));
  }
  return {};
}

/// A model of one's own comes with its own projector or with none, never with the bundled one.
Result<void> apply_bundled_model(LoadedSettings& loaded, const BundledModel& bundled) {
  Settings& values = loaded.values;
  if (!values.model_path.empty()) return {};
  if (!values.mmproj_path.empty()) {
    return bad_setting("mmproj needs model: the bundled model has its own projector (" +
                           loaded.sources[index_of("mmproj")].place + ")",
                       "mmproj");
  }
  values.model_path = bundled.model_path;
  const bool is_left_out = loaded.sources[index_of("mmproj")].kind != Kind::kDefault;
  if (!is_left_out) values.mmproj_path = bundled.mmproj_path;
  return {};
}

/// Pairs of which the first must not exceed the second: it could never be reached.
Result<void> check_together(const Settings& values) {
  struct Pair {
    std::string_view smaller;
    std::uint64_t smaller_value;
    std::string_view larger;
    std::uint64_t larger_value;
  };
  const Limits& limits = values.limits;
  const std::size_t held = limits.tenant_held_bytes_max;
  const auto pairs = std::to_array<Pair>({
      {"output_tokens_default", static_cast<std::uint64_t>(limits.output_tokens_default),
       "output_tokens_max", static_cast<std::uint64_t>(limits.output_tokens_max)},
      {"image_pixels_max", static_cast<std::uint64_t>(limits.image_pixels_max),
       "request_pixels_max", static_cast<std::uint64_t>(limits.request_pixels_max)},
      {"tenant_held_bytes_max", held, "held_bytes_max", limits.held_bytes_max},
      {"tenant_vision_bytes_max", limits.tenant_vision_bytes_max, "vision_bytes_max",
       limits.vision_bytes_max},
      {"body_bytes_max", limits.body_bytes_max, "tenant_held_bytes_max", held},
      {"remote_request_bytes_max", values.remote_limits.request_bytes_max, "tenant_held_bytes_max",
       held},
      {"upload_bytes_max", values.upload_limits.file_bytes_max, "tenant_held_bytes_max", held},
  });
  for (const Pair& pair : pairs) {
    if (pair.smaller_value <= pair.larger_value) continue;
    const std::string key = "limits." + std::string(pair.smaller);
    return bad_setting(key + ": " + std::to_string(pair.smaller_value) + " exceeds limits." +
                           std::string(pair.larger) + ", " + std::to_string(pair.larger_value),
                       key);
  }
  return {};
}

/// One setting alone is a mistake, and the harmful reading of a mistake is the wrong one.
Result<void> check_content_log(const Settings& values) {
  if (values.content_log.empty() && values.content_log_consent.empty()) return {};
  if (values.content_log.empty()) {
    return bad_setting("content_log_consent: there is no content_log that it would allow",
                       "content_log_consent");
  }
  if (values.content_log_consent == kContentLogConsent) return {};
  return bad_setting(
      "content_log: would write down what users send; this needs content_log_consent = \"" +
          std::string(kContentLogConsent) + "\", word for word",
      "content_log");
}

Result<void> check_cache_rules(const Settings& values) {
  auto rules = admission::parse_cache_rules(values.cache_rules);
  if (rules) return {};
  return bad_setting("cache_rules: " + rules.error().message, "cache_rules");
}

Error bad_file(const std::string& name, std::string_view what) {
  return make_error(ErrorCode::kInvalidArgument, "bad_config_file",
                    name + ": " + std::string(what));
}

}  // namespace

Result<LoadedSettings> load_settings(const SettingInputs& inputs) {
  LoadedSettings loaded;
  loaded.sources.resize(setting_table().size());
  if (inputs.file) TSR_RETURN_IF_ERROR(apply_file(loaded, *inputs.file));
  TSR_RETURN_IF_ERROR(apply_environment(loaded, inputs.environment));
  TSR_RETURN_IF_ERROR(apply_flags(loaded, inputs.flags));
  TSR_RETURN_IF_ERROR(apply_bundled_model(loaded, inputs.bundled));
  if (loaded.values.api_key_file.empty()) lift_tenant_limits(loaded.values.limits);
  TSR_RETURN_IF_ERROR(check_together(loaded.values));
  TSR_RETURN_IF_ERROR(check_content_log(loaded.values));
  TSR_RETURN_IF_ERROR(check_cache_rules(loaded.values));
  return loaded;
}

std::string print_config(const LoadedSettings& settings) {
  Settings values = settings.values;
  std::ostringstream out;
  out << "# flag > environment > file > default; docs/configuration.md explains each\n";
  std::string section;
  for (std::size_t i = 0; i < setting_table().size(); ++i) {
    const SettingDefinition& setting = setting_table()[i];
    const std::size_t dot = setting.key.find('.');
    std::string_view name = setting.key;
    if (dot != std::string_view::npos) {
      name = setting.key.substr(dot + 1);
      if (section != setting.key.substr(0, dot)) {
        section = setting.key.substr(0, dot);
        out << "\n[" << section << "]\n";
      }
    }
    std::string line = std::string(name) + " = " + toml_value(setting.field(values));
    // Comments of ordinary values stand in one column.
    constexpr std::size_t kCommentColumn = 36;
    line.resize(std::max(line.size() + 2, kCommentColumn), ' ');
    const SettingSource& source = settings.sources[i];
    out << line << "# " << (source.kind == Kind::kDefault ? "default" : source.place) << '\n';
  }
  return out.str();
}

std::map<std::string, std::string> tessera_environment(const char* const* variables) {
  std::map<std::string, std::string> found;
  for (; variables != nullptr && *variables != nullptr; ++variables) {
    const std::string_view variable(*variables);
    const std::size_t equals = variable.find('=');
    if (!variable.starts_with("TESSERA_") || equals == std::string_view::npos) continue;
    found.emplace(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return found;
}

Result<std::optional<ConfigFile>> read_config_file(
    const std::optional<std::string>& flag, const std::map<std::string, std::string>& environment) {
  std::string path;
  if (const auto found = environment.find("TESSERA_CONFIG"); found != environment.end()) {
    path = found->second;
  }
  if (flag) path = *flag;
  if (path.empty()) return std::optional<ConfigFile>();

  std::ifstream stream(path, std::ios::binary);
  std::string text(kConfigFileBytesMax + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream.is_open()) return bad_file(path, "the configuration file cannot be opened");
  if (stream.bad()) return bad_file(path, "the configuration file cannot be read");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kConfigFileBytesMax) {
    return bad_file(path, "the configuration file exceeds " + size_text(kConfigFileBytesMax));
  }
  return std::optional<ConfigFile>(ConfigFile{path, std::move(text)});
}

}  // namespace tessera::cli
