// What a child process takes away from itself before it looks at untrusted bytes.
// @thread the child's only thread; there is no way back
#pragma once

#include <cstdint>

#include "core/result.h"

namespace tessera::sandbox {

struct ChildLimits {
  std::uint64_t address_space_bytes = 0;  // counts library mappings too
  std::uint64_t cpu_seconds = 0;          // SIGXCPU at this, SIGKILL one second later
  std::uint64_t open_files = 0;           // highest descriptor + 1; open ones stay usable
  bool may_start_threads = false;         // the kernel's limit counts those of the whole user
};

/// False in address and thread sanitizer builds, whose shadow memory needs terabytes of address
/// space: there restrict_self leaves that one limit out.
bool can_limit_address_space();

/// Sets the limits; no core file, no file growth by write (mappings are not files' growth), no new
/// process (unless it may start threads), no ptrace by others, no privileges by exec, and death
/// with the thread that started this process.
/// @errors  unavailable; the caller must not go on
Result<void> restrict_self(const ChildLimits& limits);

}  // namespace tessera::sandbox
