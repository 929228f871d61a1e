// The text of every --help: usage, what the command does, its options as CLI11 knows them, an
// example and the exit codes. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace tessera::cli {

struct CommandHelp {
  std::string_view name;  // empty for the program itself
  std::string_view usage;
  std::string_view description;
  std::string_view example;
};

/// @param name  a subcommand of ours, or empty
const CommandHelp& command_help(std::string_view name);

/// At most 78 columns wide.
std::string help_text(const CLI::App& command);

}  // namespace tessera::cli
