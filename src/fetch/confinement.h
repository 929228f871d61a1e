// What the fetcher takes away from itself. It talks to strangers, so it is confined as a decoder
// is, as far as its work allows: it needs sockets, threads that look up names, and their files.
//
//   begin()      first      no root, no capabilities, limits of resources; loads what could not be
//                           loaded later
//   lock_down()  once the rules are known, before the first order: Landlock, then the system-call
//                           filter (sandbox::CallList::kFetcher); a forbidden call kills the
//                           process
//
// Afterwards it can read the handful of files that say how names are looked up, and no other; can
// connect to the ports of the rules and to DNS; can write, make, run, signal and listen to nothing.
// @thread the process's only thread, in this order; there is no way back
#pragma once

#include <string>
#include <utility>

#include "core/result.h"
#include "fetch/fetch_rules.h"
#include "sandbox/seccomp_filter.h"

namespace tessera::fetch {

class Confinement {
 public:
  /// Also settles how names are looked up: by /etc/hosts and by DNS, whatever else the system's
  /// configuration says. Its other ways are libraries that would have to be loaded, and that talk
  /// to local services.
  /// @errors  unavailable; the caller must not go on
  static Result<Confinement> begin();

  /// @errors  unavailable; the caller must not go on
  Result<void> lock_down(const FetchRules& rules) const;

 private:
  explicit Confinement(sandbox::SeccompFilter filter) : filter_(std::move(filter)) {}

  sandbox::SeccompFilter filter_;
};

/// The certificates that libcurl was built to trust, as PEM; empty when it names no such file.
std::string trusted_certificates();

}  // namespace tessera::fetch
