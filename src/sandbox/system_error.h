// How a failed system call becomes an Error: the call's name and errno's name, never a path.
// @thread any
#pragma once

#include <string_view>

#include "core/error.h"

namespace tessera::sandbox {

/// @param call  for people, e.g. "memfd_create"
/// @param code  an errno value
/// @return      unavailable, reason `system_call_failed`: what fails here is mostly a full table
///              or memory, so that a retry may succeed
Error system_error(std::string_view call, int code);

}  // namespace tessera::sandbox
