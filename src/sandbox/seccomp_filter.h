// The filter that lets a process make the calls of one list (allowed_calls.h); any other kills it
// (SIGSYS). Calls by the numbers of another architecture do, too.
//
// It is built once, which costs more than all the rest of a decoder's start, and installed by each
// process.
// @thread any; install() binds the calling thread, which should be the process's only one
#pragma once

#include <linux/filter.h>

#include <vector>

#include "core/result.h"
#include "sandbox/allowed_calls.h"

namespace tessera::sandbox {

class SeccompFilter {
 public:
  /// @errors  unavailable: no memory, or a kernel without a filter action that kills the process
  /// @cost    ~0.3 ms
  static Result<SeccompFilter> build(CallList list = CallList::kDecoder);

  /// From here on the process makes the allowed calls or dies.
  /// @errors  unavailable; the caller must not go on
  Result<void> install() const;

 private:
  explicit SeccompFilter(std::vector<sock_filter> program) : program_(std::move(program)) {}

  std::vector<sock_filter> program_;
};

}  // namespace tessera::sandbox
