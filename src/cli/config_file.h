// A TOML file as flat settings. The only place that sees the TOML library. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "cli/setting_table.h"

namespace tessera::cli {

struct FileSetting {
  const SettingDefinition* setting = nullptr;
  std::string text;  // as parse_value takes it
  int line = 0;
};

/// @errors  invalid_argument (`bad_setting`: not TOML, a key that is no setting, a value of a wrong
///          type); the message starts with "file:line: "
Result<std::vector<FileSetting>> parse_config_file(const ConfigFile& file);

}  // namespace tessera::cli
