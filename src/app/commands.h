// What each command of the program does, from parsed options to an exit code.
#pragma once

#include "app/signals.h"
#include "cli/ask.h"
#include "cli/command_line.h"

namespace tessera::app {

/// @thread main
cli::ExitCode run_command(const cli::CommandLine& command, SignalWatcher& signals,
                          const cli::Terminal& terminal);

}  // namespace tessera::app
