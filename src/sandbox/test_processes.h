// Test support: the processes and descriptors of this test, counted before and after.
#pragma once

#include <poll.h>
#include <sched.h>
#include <unistd.h>

// glibc 2.36 declares its functions without C linkage for C++.
extern "C" {
#include <sys/pidfd.h>
}

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>

#include "core/unique_fd.h"

namespace tessera::sandbox::test_support {

inline std::ptrdiff_t count_open_fds() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// Children of one process, ended and not reaped ones too. Empty when it is gone.
inline std::set<pid_t> children_of(pid_t parent) {
  std::set<pid_t> children;
  std::error_code ignored;  // a thread or process may end while we read
  const std::string threads = "/proc/" + std::to_string(parent) + "/task";
  for (const auto& thread : std::filesystem::directory_iterator(threads, ignored)) {
    std::ifstream file(thread.path() / "children");
    for (pid_t child = -1; file >> child;) children.insert(child);
  }
  return children;
}

/// Children, grandchildren and so on.
inline std::set<pid_t> descendants(pid_t ancestor = ::getpid()) {
  std::set<pid_t> found;
  for (const pid_t child : children_of(ancestor)) {
    found.insert(child);
    found.merge(descendants(child));
  }
  return found;
}

/// Waits until nothing runs below us that is not in `before`, and returns true. An end that was
/// asked for takes a moment; one that never comes runs into the test's own time limit.
inline bool shrinks_to(const std::set<pid_t>& before) {
  for (std::set<pid_t> now = descendants(); !std::ranges::includes(before, now);
       now = descendants()) {
    ::sched_yield();
  }
  return true;
}

/// The process below us that was not there before.
inline pid_t only_new(const std::set<pid_t>& before) {
  for (const pid_t pid : descendants()) {
    if (!before.contains(pid)) return pid;
  }
  return ::getpid();  // a signal for it ends the test, which says more than a wrong process would
}

/// Waits for the end of a process that may be another's child. Its descriptors are closed then,
/// even while nobody has reaped it, which a signal that its end sends to others does not promise.
class ProcessEnd {
 public:
  explicit ProcessEnd(pid_t pid) : pidfd_(::pidfd_open(pid, 0)) {}

  bool wait() const {
    pollfd entry{pidfd_.get(), POLLIN, 0};
    return pidfd_ && ::poll(&entry, 1, -1) == 1;
  }

 private:
  UniqueFd pidfd_;
};

}  // namespace tessera::sandbox::test_support
