// `tessera cache`: the figures of the feature cache and forgetting, of a running server over its
// /admin, or of a folder that no server has open.
#pragma once

#include <string_view>

#include "cli/ask.h"
#include "cli/command_line.h"

namespace tessera::app {

/// The variable that holds an admin key itself.
inline constexpr std::string_view kAdminKeyVariable = "TESSERA_ADMIN_KEY";

/// @thread the caller's; waits for the server or the disk
cli::ExitCode run_cache(const cli::CacheOptions& options, const cli::Terminal& terminal);

}  // namespace tessera::app
