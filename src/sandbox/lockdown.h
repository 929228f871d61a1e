// Everything that confines a decoder, in two halves: what the zygote does once for all its
// children, and what each child does to itself before it looks at the first byte of a file.
//
//   prepare()  zygote   no root, namespaces, empty root directory, no capabilities, Landlock;
//   builds
//                       the system-call filter and tries it in forked children
//   apply()    child    resource limits, then the filter
//
// @thread the only thread of the process
#pragma once

#include <optional>
#include <utility>

#include "core/result.h"
#include "sandbox/child_limits.h"
#include "sandbox/sandbox_level.h"
#include "sandbox/seccomp_filter.h"

namespace tessera::sandbox {

class Lockdown {
 public:
  /// Never fails: the level says what could be had. Returns in another process where namespaces can
  /// be had (namespaces.h), with the same descriptors.
  /// @cost  ~5 ms
  static Lockdown prepare(CallList calls);

  SandboxLevel level() const { return level_; }

  /// @errors  unavailable; the caller must not go on
  Result<void> apply(const ChildLimits& limits) const;

 private:
  Lockdown(SandboxLevel level, std::optional<SeccompFilter> filter)
      : level_(level), filter_(std::move(filter)) {}

  SandboxLevel level_;
  std::optional<SeccompFilter> filter_;  // empty only at level C
};

/// True when the filter kills children that try to open a socket or a file, to trace or signal a
/// process, or to start a program. Forks one child each.
bool filter_holds(const SeccompFilter& filter);

}  // namespace tessera::sandbox
