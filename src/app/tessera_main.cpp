// The program `tessera`: the command line, then the command.
#include <iostream>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/crash_handler.h"

int main(int argc, char** argv) {
  using namespace tessera;
  app::install_crash_handler();
  app::SignalWatcher signals;
  const cli::Terminal terminal{std::cout, std::cerr};
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto command = cli::parse_command_line(arguments);
  const cli::ExitCode code = command ? app::run_command(*command, signals, terminal)
                                     : cli::print_error(command.error(), false, terminal);
  return static_cast<int>(code);
}
