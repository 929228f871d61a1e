// Starts another program with nothing of ours but one end of a channel, and owns it to its end.
//
// The program is started by posix_spawn: a fork of a process that holds model weights costs
// milliseconds for its page tables alone. A ChildProcess owns the process: its destructor kills and
// reaps, so that neither a process nor a zombie outlives it.
// @thread one thread at a time; the child dies with the thread that started it when it asks for
//         that (restrict_self)
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "core/unique_fd.h"
#include "sandbox/channel.h"

namespace tessera::sandbox {

/// Where the child finds its end of the channel.
inline constexpr int kChildChannelFd = 3;

struct ExitStatus {
  enum class Kind { kExited, kSignalled };
  Kind kind = Kind::kExited;
  int value = 0;  // exit code, or signal number
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

class ChildProcess {
 public:
  /// Takes over a process that is neither reaped nor waited for by anybody else.
  ChildProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  ChildProcess(ChildProcess&&) noexcept = default;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess() { end(); }

  pid_t pid() const { return pid_; }

  /// SIGKILL; returns at once. The child is reaped by wait() or by the destructor.
  void kill();

  /// Waits for the end of the process and reaps it. Later calls return the same status.
  /// @return  nothing when the deadline passed first
  std::optional<ExitStatus> wait(TimePoint deadline);

 private:
  void end();

  pid_t pid_ = -1;
  UniqueFd pidfd_;  // empty = moved away or reaped
  std::optional<ExitStatus> status_;
};

struct SpawnOptions {
  std::string path;                           // absolute; also the child's argv[0]
  std::vector<std::string> arguments;         // argv[1…]
  bool inherit_stderr = false;                // else /dev/null; for people who debug a child
  std::vector<std::string> environment = {};  // NAME=value; else none
};

struct SpawnedChild {
  ChildProcess process;
  Channel channel;
};

/// Starts a program. It finds /dev/null at 0, 1 and (see options) 2, its end of the channel at
/// kChildChannelFd, no other descriptor, no environment but the given one, "/" as its directory,
/// default signal dispositions, an empty signal mask, and a process group of its own, so that a
/// terminal's ^C reaches it only through us.
/// @errors  invalid_argument (path not absolute); unavailable (program missing, no resources)
/// @cost    ~1–2 ms for an image decoder's libraries
Result<SpawnedChild> spawn_child(const SpawnOptions& options);

}  // namespace tessera::sandbox
