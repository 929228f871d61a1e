#include "sandbox/zygote_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <vector>

// glibc 2.36 declares these two without C linkage for C++.
extern "C" {
#include <sys/pidfd.h>
}

#include "sandbox/child_process.h"
#include "sandbox/zygote_wire.h"

namespace tessera::sandbox {
namespace {

using wire::LifeEvent;

// Exit codes; nobody but people reads them.
constexpr int kExitDone = 0;
constexpr int kExitBroken = 2;
constexpr int kExitOrphan = 3;

struct Child {
  pid_t pid = -1;
  UniqueFd pidfd;
  Channel life{UniqueFd()};
};

/// A life channel carries two messages in all, so that its buffer is never full. A closed one has
/// nobody who listens.
void tell(Channel& life, LifeEvent event, int value) {
  if (life.fd() < 0) return;
  constexpr std::chrono::milliseconds kNever{100};  // waits only if that were wrong
  (void)life.send(wire::LifeMessage{event, value}, {},
                  {std::chrono::steady_clock::now() + kNever, nullptr});
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// In the child: leaves nothing of the zygote but memory, code and /dev/null.
[[noreturn]] void become_child(pid_t zygote, const Channel& data, const ChildMain& child_main) {
  // The parent may have died before it could be named in PDEATHSIG; then it is another one by now.
  const bool bound = ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && ::getppid() == zygote;
  const bool placed = data.fd() == kChildChannelFd ||
                      ::dup3(data.fd(), kChildChannelFd, O_CLOEXEC) == kChildChannelFd;
  if (!bound || !placed || ::close_range(kChildChannelFd + 1, ~0U, 0) != 0) ::_exit(kExitOrphan);
  Channel channel{UniqueFd(kChildChannelFd)};
  // No destructors, no exit handlers: they are the zygote's.
  ::_exit(child_main(channel));
}

class Loop {
 public:
  Loop(Channel& channel, const ChildMain& child_main)
      : channel_(channel), child_main_(child_main) {}

  int run() {
    for (;;) {  // bounded by the server, which closes its end
      std::vector<pollfd> entries = watched();
      if (::poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) return end(kExitBroken);
      // From the back, so that a removal moves no entry that is still to be looked at.
      for (std::size_t i = children_.size(); i-- > 0;) {
        if (entries[2 * i + 2].revents != 0) kill(children_[i]);
        if (entries[2 * i + 1].revents != 0) reap(i);
      }
      if (entries[0].revents == 0) continue;
      auto received = channel_.receive<wire::ForkMessage>(2);
      if (received.status == IoStatus::kClosed) return end(kExitDone);
      if (received.status == IoStatus::kFailed) return end(kExitBroken);
      const bool sound = received.status == IoStatus::kOk && received.fds.size() == 2 &&
                         received.message.version == wire::kVersion;
      if (sound) start(Channel(std::move(received.fds[0])), Channel(std::move(received.fds[1])));
    }
  }

 private:
  /// The server's channel, then for each child its pidfd and its life end.
  std::vector<pollfd> watched() const {
    std::vector<pollfd> entries{{channel_.fd(), POLLIN, 0}};
    for (const Child& child : children_) {
      entries.push_back({child.pidfd.get(), POLLIN, 0});
      entries.push_back({child.life.fd(), 0, 0});  // POLLHUP comes unasked; -1 is skipped
    }
    return entries;
  }

  void start(Channel data, Channel life) {
    if (children_.size() >= wire::kChildrenMax) return tell(life, LifeEvent::kRefused, EAGAIN);
    const pid_t zygote = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return tell(life, LifeEvent::kRefused, errno);
    if (pid == 0) become_child(zygote, data, child_main_);
    UniqueFd pidfd(::pidfd_open(pid, 0));
    if (!pidfd) {
      const int code = errno;
      ::kill(pid, SIGKILL);
      wait_for(pid);
      return tell(life, LifeEvent::kRefused, code);
    }
    tell(life, LifeEvent::kStarted, 0);
    children_.push_back({pid, std::move(pidfd), std::move(life)});
  }

  static void kill(Child& child) {
    child.life.close();
    ::pidfd_send_signal(child.pidfd.get(), SIGKILL, nullptr, 0);
  }

  void reap(std::size_t index) {
    Child& child = children_[index];
    const int status = wait_for(child.pid);
    if (WIFSIGNALED(status)) {
      tell(child.life, LifeEvent::kSignalled, WTERMSIG(status));
    } else {
      tell(child.life, LifeEvent::kExited, WEXITSTATUS(status));
    }
    std::swap(child, children_.back());
    children_.pop_back();
  }

  int end(int code) {
    for (Child& child : children_) kill(child);
    for (const Child& child : children_) wait_for(child.pid);
    return code;
  }

  Channel& channel_;
  const ChildMain& child_main_;
  std::vector<Child> children_;  // ≤ kChildrenMax
};

}  // namespace

int run_zygote(Channel& channel, const ChildMain& child_main) {
  return Loop(channel, child_main).run();
}

void run_worker(const WorkerProgram& program) {
  if (program.warm_up) program.warm_up();
  const Lockdown lockdown = Lockdown::prepare(program.calls);
  Channel channel{UniqueFd(kChildChannelFd)};
  wire::HelloMessage hello;
  hello.level = lockdown.level();
  if (channel.send(hello, {}) != IoStatus::kOk) ::_exit(kExitBroken);
  // No destructors: a zygote has nothing to leave behind.
  ::_exit(run_zygote(channel, [&](Channel& data) { return program.serve(data, lockdown); }));
}

}  // namespace tessera::sandbox
