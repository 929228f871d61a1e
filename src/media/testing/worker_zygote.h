// The media worker of a test program, started at first use. For tests only.
// @thread any
#pragma once

#include <string>

#include "sandbox/zygote.h"

namespace tessera::media::testing {

/// One zygote for each path, for as long as the program runs.
/// @param path  absolute, of a worker program; aborts when it cannot be started
sandbox::Zygote& worker_zygote(const std::string& path);

}  // namespace tessera::media::testing
