#include "sandbox/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

// glibc 2.36 declares these two without C linkage for C++.
extern "C" {
#include <sys/pidfd.h>
}

#include "sandbox/system_error.h"

namespace tessera::sandbox {
namespace {

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  /// @return an errno value; 0 = prepared
  int prepare(int channel_fd, bool inherit_stderr) {
    // The channel first: its number may be one of those that are replaced below. dup2 onto itself
    // clears close-on-exec, as posix_spawn promises.
    int code = ::posix_spawn_file_actions_adddup2(&actions_, channel_fd, kChildChannelFd);
    if (code == 0) code = open_null(0, O_RDONLY);
    if (code == 0) code = open_null(1, O_WRONLY);
    if (code == 0 && !inherit_stderr) code = open_null(2, O_WRONLY);
    if (code == 0) {
      code = ::posix_spawn_file_actions_addclosefrom_np(&actions_, kChildChannelFd + 1);
    }
    if (code == 0) code = ::posix_spawn_file_actions_addchdir_np(&actions_, "/");
    return code;
  }

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  int open_null(int fd, int flags) {
    return ::posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", flags, 0);
  }

  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  Attributes() { ::posix_spawnattr_init(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }

  int prepare() {
    sigset_t none{};
    sigset_t all{};
    ::sigemptyset(&none);
    ::sigfillset(&all);
    int code = ::posix_spawnattr_setsigmask(&attributes_, &none);
    if (code == 0) code = ::posix_spawnattr_setsigdefault(&attributes_, &all);
    if (code == 0) code = ::posix_spawnattr_setpgroup(&attributes_, 0);
    constexpr int kFlags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP;
    if (code == 0) code = ::posix_spawnattr_setflags(&attributes_, kFlags);
    return code;
  }

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

int timeout_ms(TimePoint deadline) {
  if (deadline == TimePoint::max()) return -1;
  constexpr std::chrono::milliseconds kLongest{60'000};  // the caller's loop polls again
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  if (left < std::chrono::milliseconds(0)) return 0;
  return static_cast<int>(std::min(left, kLongest).count());
}

}  // namespace

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    end();
    pid_ = other.pid_;
    pidfd_ = std::move(other.pidfd_);
    status_ = other.status_;
  }
  return *this;
}

void ChildProcess::kill() {
  if (pidfd_) ::pidfd_send_signal(pidfd_.get(), SIGKILL, nullptr, 0);
}

std::optional<ExitStatus> ChildProcess::wait(TimePoint deadline) {
  while (pidfd_) {
    pollfd entry{pidfd_.get(), POLLIN, 0};
    const int n_ready = ::poll(&entry, 1, timeout_ms(deadline));
    if (n_ready <= 0) {
      if (deadline != TimePoint::max() && std::chrono::steady_clock::now() >= deadline) {
        return std::nullopt;
      }
      continue;
    }
    siginfo_t info{};
    if (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0) {
      if (errno == EINTR) continue;
      // Somebody else reaped it (SIGCHLD ignored): gone is all that is known.
      info.si_code = CLD_KILLED;
      info.si_status = SIGKILL;
    }
    const auto kind =
        info.si_code == CLD_EXITED ? ExitStatus::Kind::kExited : ExitStatus::Kind::kSignalled;
    status_ = ExitStatus{kind, info.si_status};
    pidfd_.reset();
  }
  return status_;
}

void ChildProcess::end() {
  kill();
  wait(TimePoint::max());
}

Result<SpawnedChild> spawn_child(const SpawnOptions& options) {
  if (options.path.empty() || options.path.front() != '/') {
    return make_error(ErrorCode::kInvalidArgument, "program_path_not_absolute",
                      "the path of a child program must be absolute");
  }
  TSR_ASSIGN_OR_RETURN(auto ends, Channel::make_pair());

  FileActions actions;
  Attributes attributes;
  if (const int code = actions.prepare(ends.second.fd(), options.inherit_stderr); code != 0) {
    return system_error("posix_spawn_file_actions", code);
  }
  if (const int code = attributes.prepare(); code != 0) {
    return system_error("posix_spawnattr", code);
  }

  // posix_spawn takes char* for historical reasons and does not write.
  std::vector<char*> argv{const_cast<char*>(options.path.c_str())};
  for (const auto& argument : options.arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  std::vector<char*> environment;
  for (const auto& variable : options.environment) {
    environment.push_back(const_cast<char*>(variable.c_str()));
  }
  environment.push_back(nullptr);

  pid_t pid = -1;
  const int code = ::posix_spawn(&pid, options.path.c_str(), actions.get(), attributes.get(),
                                 argv.data(), environment.data());
  if (code != 0) return system_error("posix_spawn", code);

  // Race-free: the pid stays taken until we reap it.
  UniqueFd pidfd(::pidfd_open(pid, 0));
  if (!pidfd) {
    const int open_code = errno;
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return system_error("pidfd_open", open_code);
  }
  return SpawnedChild{ChildProcess(pid, std::move(pidfd)), std::move(ends.first)};
}

}  // namespace tessera::sandbox
