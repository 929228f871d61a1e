// `tessera ask`: one question through the pipeline, the answer to the terminal as it comes.
//
// A function over streams and a Service; the caller's thread.
#pragma once

#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "core/clock.h"
#include "core/request.h"
#include "core/trace.h"
#include "pipeline/service.h"

namespace tessera::cli {

struct Terminal {
  std::ostream& out;
  std::ostream& err;
};

/// What was read for a command before it runs.
struct CommandInput {
  std::vector<EncodedMedia> media;
  Trace trace;  // in Stage::kRead, started before the files were read
};

/// Prints the answer on `out`, then the stage table on `err`; with --json one object on `out`.
/// @param stop  on request the answer ends where it is: ExitCode::kInterrupted
ExitCode run_ask(const AskOptions& options, CommandInput input, pipeline::Service& service,
                 const Terminal& terminal, const Clock& clock, const std::stop_token& stop);

/// What a command ends with that somebody stopped.
Error interrupted_error();

/// "tessera: …" on `err`, or with `json` an error object on `out`. Gives the exit code.
ExitCode print_error(const Error& error, bool json, const Terminal& terminal);

/// The same for an error before the first request, with startup_exit_code_of().
ExitCode print_startup_error(const Error& error, bool json, const Terminal& terminal);

/// Text without what a terminal would obey: control characters other than line feed and tab are
/// left out. An answer may repeat what an image told the model to write.
std::string printable(std::string_view text);

}  // namespace tessera::cli
