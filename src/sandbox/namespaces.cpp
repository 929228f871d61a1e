#include "sandbox/namespaces.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>

#include "core/unique_fd.h"
#include "sandbox/child_process.h"

namespace tessera::sandbox {
namespace {

/// The kernel's overflow id, by which everybody knows nobody.
constexpr unsigned kNobody = 65534;

constexpr int kNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                            CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

/// What a shell calls a process that a signal ended.
constexpr int kSignalledBase = 128;

bool write_file(const char* path, std::string_view text) {
  const UniqueFd fd(::open(path, O_WRONLY | O_CLOEXEC));
  return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// Inside, we are nobody too: id 0 would mean something to the kernel.
bool map_ids(uid_t user, gid_t group) {
  const std::string inside = std::to_string(kNobody) + " ";
  return write_file("/proc/self/setgroups", "deny") &&
         write_file("/proc/self/uid_map", inside + std::to_string(user) + " 1") &&
         write_file("/proc/self/gid_map", inside + std::to_string(group) + " 1");
}

/// A file system without a single entry becomes the root, and the old one is let go. /proc is a
/// directory that exists on every system, since we have just written to it.
bool enter_empty_root() {
  constexpr unsigned long kNothing =
      MS_NOSUID | MS_NODEV | MS_NOEXEC;  // NOLINT(google-runtime-int)
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", "/proc", "tmpfs", kNothing, "size=4096,nr_inodes=1,mode=0555") == 0 &&
         ::chdir("/proc") == 0 && ::syscall(SYS_pivot_root, ".", ".") == 0 &&
         ::umount2(".", MNT_DETACH) == 0 && ::chdir("/") == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kNothing, nullptr) == 0;
}

[[noreturn]] void end_as(pid_t inner) {
  ::close_range(kChildChannelFd, ~0U, 0);
  int status = 0;
  while (::waitpid(inner, &status, 0) < 0 && errno == EINTR) {
  }
  ::_exit(WIFSIGNALED(status) ? kSignalledBase + WTERMSIG(status) : WEXITSTATUS(status));
}

}  // namespace

void give_up_root() {
  if (::geteuid() != 0) return;
  const bool done = ::setgroups(0, nullptr) == 0 && ::setresgid(kNobody, kNobody, kNobody) == 0 &&
                    ::setresuid(kNobody, kNobody, kNobody) == 0;
  // A change of user hides /proc/self from its own process, which has id maps to write there.
  if (done) ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

bool enter_namespaces() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(kNamespaces) != 0) return false;
  // From here on the new pid namespace waits for its pid 1, so there is no way but forward.
  const bool mapped = map_ids(user, group);
  const pid_t inner = ::fork();
  if (inner < 0) ::_exit(kSignalledBase);
  if (inner > 0) end_as(inner);
  // The old process has one thread; when it is killed, this one goes too, and its namespace.
  const bool bound = ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0;
  return mapped && bound && enter_empty_root();
}

void drop_capabilities() {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  constexpr int kCapabilitiesMax = 64;  // bits of the kernel's sets
  for (int i = 0; i < kCapabilitiesMax; ++i) ::prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  ::syscall(SYS_capset, &header, none);
}

}  // namespace tessera::sandbox
