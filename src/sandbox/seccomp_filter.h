// The system calls that a decoder may make; any other kills its process (SIGSYS).
//
// The filter is built once in the zygote, which costs more than all the rest of a child's start,
// and installed by each child. The list is for decoders that are given everything before they
// start: they allocate, compute, and talk through one channel. It is checked by decoding the whole
// test corpus under it in a build without sanitizers, whose runtimes need a few calls more.
// @thread any; install() binds the calling thread, which should be the process's only one
#pragma once

#include <linux/filter.h>

#include <span>
#include <vector>

#include "core/result.h"

namespace tessera::sandbox {

struct AllowedCall {
  const char* name;
  bool never_executable;  // refused with PROT_EXEC: memory never becomes code
  const char* reason;
};

/// The list of a build without sanitizers, for documents and tests.
std::span<const AllowedCall> allowed_calls();

/// What a sanitizer's runtime needs in addition; empty in other builds.
std::span<const AllowedCall> sanitizer_calls();

class SeccompFilter {
 public:
  /// @errors  unavailable: no memory, or a kernel without a filter action that kills the process
  /// @cost    ~0.3 ms
  static Result<SeccompFilter> build();

  /// From here on the process makes the allowed calls or dies.
  /// @errors  unavailable; the caller must not go on
  Result<void> install() const;

 private:
  explicit SeccompFilter(std::vector<sock_filter> program) : program_(std::move(program)) {}

  std::vector<sock_filter> program_;
};

}  // namespace tessera::sandbox
