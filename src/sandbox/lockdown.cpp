#include "sandbox/lockdown.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "core/unique_fd.h"
#include "sandbox/landlock.h"
#include "sandbox/namespaces.h"

namespace tessera::sandbox {
namespace {

/// When memory runs out, the kernel shall take a decoder before anything else.
void volunteer_for_oom() {
  const UniqueFd fd(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  [[maybe_unused]] const ssize_t n_written = ::write(fd.get(), "1000", 4);
}

// What an attacker would try first. Each is harmless should it be allowed.
constexpr std::array kForbidden = std::to_array<void (*)()>({
    [] { ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); },
    [] { ::openat(AT_FDCWD, "/", O_RDONLY | O_CLOEXEC); },
    [] { ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); },
    [] { ::kill(::getppid(), 0); },
    [] {
      std::array<char*, 1> none{nullptr};
      ::execve("/", none.data(), none.data());
    },
});

}  // namespace

bool filter_holds(const SeccompFilter& filter) {
  std::array<pid_t, kForbidden.size()> children{};
  for (std::size_t i = 0; i < kForbidden.size(); ++i) {
    children[i] = ::fork();
    if (children[i] != 0) continue;
    if (filter.install()) kForbidden[i]();
    ::_exit(0);
  }
  bool holds = true;
  for (const pid_t child : children) {
    int status = 0;
    pid_t reaped = -1;
    do {
      reaped = child > 0 ? ::waitpid(child, &status, 0) : -1;
    } while (child > 0 && reaped < 0 && errno == EINTR);
    holds = holds && reaped == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
  }
  return holds;
}

Lockdown Lockdown::prepare(CallList calls) {
  volunteer_for_oom();
  give_up_root();
  const bool alone = enter_namespaces();
  drop_capabilities();
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  deny_all_by_landlock();
  auto filter = SeccompFilter::build(calls);
  if (!filter || !filter_holds(*filter)) return {SandboxLevel::kC, std::nullopt};
  return {alone ? SandboxLevel::kA : SandboxLevel::kB, *std::move(filter)};
}

Result<void> Lockdown::apply(const ChildLimits& limits) const {
  TSR_RETURN_IF_ERROR(restrict_self(limits));
  return filter_ ? filter_->install() : Result<void>();
}

}  // namespace tessera::sandbox
