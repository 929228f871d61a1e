// Calls and types with a better replacement. Pure.
#pragma once

#include "tidy/finding.h"

namespace tessera::tidy {

/// Sleeps, unowned threads, unbounded queues, tests that do not run.
Findings check_code(const SourceFile& file);

}  // namespace tessera::tidy
