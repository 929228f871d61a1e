// A worker program whose children do what the tests tell them (test_worker.h).
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "sandbox/test_worker.h"
#include "sandbox/zygote_loop.h"

namespace {

using tessera::sandbox::Channel;
using tessera::sandbox::IoStatus;
using tessera::sandbox::Lockdown;
using tessera::sandbox::test_support::Answer;
using tessera::sandbox::test_support::Command;
using tessera::sandbox::test_support::Deed;

constexpr tessera::sandbox::ChildLimits kLimits{std::uint64_t{1} << 30U, 10, 64};
constexpr int kExitLockDown = 9;

std::int64_t open_descriptors() {
  constexpr int kBits = 63;
  std::int64_t bits = 0;
  for (int fd = 0; fd < kBits; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) bits |= std::int64_t{1} << fd;
  }
  return bits;
}

/// 0, or errno.
std::int64_t errno_of(int result) {
  return result < 0 ? errno : 0;
}

std::int64_t perform(const Command& command, const Lockdown& lockdown) {
  struct stat info{};
  switch (command.deed) {
    case Deed::kReportDescriptors:
      return open_descriptors();
    case Deed::kReportUser:
      return ::geteuid();
    case Deed::kReportParent:
      return ::getppid();
    case Deed::kOpenRoot:
      return errno_of(::open("/", O_RDONLY | O_CLOEXEC));
    case Deed::kListRoot:
      return errno_of(::stat("/bin", &info));
    case Deed::kLockDown:
      if (!lockdown.apply(kLimits)) ::_exit(kExitLockDown);
      return 0;
    case Deed::kLockDownThenCall:
      if (!lockdown.apply(kLimits)) ::_exit(kExitLockDown);
      ::syscall(command.value, 0, 0, 0, 0, 0, 0);
      return 0;
    case Deed::kExit:
      ::_exit(command.value);
    case Deed::kRaise:
      ::signal(command.value, SIG_DFL);
      ::raise(command.value);
      return 0;
    case Deed::kHang:
      for (;;) ::pause();
  }
  return -1;
}

int serve(Channel& channel, const Lockdown& lockdown) {
  for (;;) {
    const auto received = channel.receive<Command>(0);
    if (received.status != IoStatus::kOk) return 0;
    if (channel.send(Answer{perform(received.message, lockdown)}, {}) != IoStatus::kOk) return 0;
  }
}

}  // namespace

int main() {
  tessera::sandbox::run_worker({{}, serve});
}
