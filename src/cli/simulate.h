// `tessera simulate`: what a load would do to a server, without model or server.
//
// Functions over values and streams; the caller's thread.
#pragma once

#include <string>

#include "cli/ask.h"
#include "cli/command_line.h"
#include "simulate/simulation.h"

namespace tessera::cli {

/// Prints a table on `out`; with --json one object.
ExitCode run_simulate(const SimulateOptions& options, const Terminal& terminal);

/// A row for each kind of request, then what they share; UTF-8, at most 78 columns.
std::string simulation_table(const SimulateOptions& options,
                             const simulate::SimulationResult& result);

}  // namespace tessera::cli
