// The program `tessera`: the command line, then the command.
#include <iostream>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "app/commands.h"
#include "app/crash_handler.h"

namespace {

using tessera::cli::ExitCode;

ExitCode run(int argc, char** argv) {
  using namespace tessera;
  const cli::Terminal terminal{std::cout, std::cerr};
  // Threads, memory: what the standard library throws while a command starts.
  try {
    app::SignalWatcher signals;
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const auto command = cli::parse_command_line(arguments);
    return command ? app::run_command(*command, signals, terminal)
                   : cli::print_error(command.error(), false, terminal);
  } catch (const std::system_error& error) {
    std::cerr << "tessera: the system refused: " << error.what() << '\n';
  } catch (const std::bad_alloc&) {
    std::cerr << "tessera: out of memory\n";
  }
  return ExitCode::kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  tessera::app::install_crash_handler();
  const ExitCode code = run(argc, argv);
  std::cout.flush();
  if (code == ExitCode::kOk && !std::cout) {
    std::cerr << "tessera: standard output cannot be written\n";
    return static_cast<int>(ExitCode::kFailed);
  }
  return static_cast<int>(code);
}
