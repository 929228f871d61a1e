#include "sandbox/child_limits.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>

#include "sandbox/sanitizer.h"
#include "sandbox/system_error.h"

namespace tessera::sandbox {
namespace {

struct ResourceLimit {
  __rlimit_resource resource;
  const char* call;
  rlim_t soft;
  rlim_t hard;
};

}  // namespace

bool can_limit_address_space() {
#ifdef TSR_SANITIZER_RUNTIME
  return false;
#else
  return true;
#endif
}

Result<void> restrict_self(const ChildLimits& limits) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) {
    return system_error("prctl(PR_SET_PDEATHSIG)", errno);
  }
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    return system_error("prctl(PR_SET_DUMPABLE)", errno);
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return system_error("prctl(PR_SET_NO_NEW_PRIVS)", errno);
  }
  const ResourceLimit table[] = {
      {RLIMIT_CORE, "setrlimit(CORE)", 0, 0},
      {RLIMIT_FSIZE, "setrlimit(FSIZE)", 0, 0},
      {RLIMIT_NPROC, "setrlimit(NPROC)", 0, 0},
      {RLIMIT_NOFILE, "setrlimit(NOFILE)", limits.open_files, limits.open_files},
      {RLIMIT_CPU, "setrlimit(CPU)", limits.cpu_seconds, limits.cpu_seconds + 1},
      {RLIMIT_AS, "setrlimit(AS)", limits.address_space_bytes, limits.address_space_bytes},
  };
  for (const ResourceLimit& entry : table) {
    if (entry.resource == RLIMIT_AS && !can_limit_address_space()) continue;
    if (entry.resource == RLIMIT_NPROC && limits.may_start_threads) continue;
    // A limit that we were started with may be lower already; raising a hard limit is an error.
    rlimit current{};
    if (::getrlimit(entry.resource, &current) != 0) return system_error("getrlimit", errno);
    const rlim_t hard = entry.hard < current.rlim_max ? entry.hard : current.rlim_max;
    const rlim_t soft = entry.soft < hard ? entry.soft : hard;
    const rlimit wanted{soft, hard};
    if (::setrlimit(entry.resource, &wanted) != 0) return system_error(entry.call, errno);
  }
  return {};
}

}  // namespace tessera::sandbox
