// `tessera plan`: what images would cost, without running the model.
//
// Functions over streams and a Service; the caller's thread.
#pragma once

#include <string>
#include <vector>

#include "cli/ask.h"
#include "cli/command_line.h"
#include "pipeline/service.h"

namespace tessera::cli {

/// Prints a table on `out`; with --json one object.
/// @param stop  ends the wait; the exit code then says so
ExitCode run_plan(const PlanOptions& options, std::vector<EncodedMedia> media,
                  pipeline::Service& service, const Terminal& terminal, const Clock& clock,
                  const std::stop_token& stop);

/// A row for each image, totals and estimates; UTF-8, at most 78 columns.
std::string plan_table(const PlanReport& report);

}  // namespace tessera::cli
