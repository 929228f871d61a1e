// The zygote itself: a process with one thread that forks a child for each message of its server,
// watches it, and says how it ended. It never looks at a byte of any request.
//
// A child gets its end of one data channel at kChildChannelFd and no other descriptor but those of
// /dev/null. It dies with the zygote (PDEATHSIG, which is safe here: the zygote has one thread),
// when the server closes its life end, and by its own limits.
// @thread the process's only thread
#pragma once

#include <functional>

#include "sandbox/channel.h"
#include "sandbox/lockdown.h"

namespace tessera::sandbox {

/// What a child does with its channel; its result is the exit code.
using ChildMain = std::function<int(Channel&)>;

/// Serves fork requests until the other end of `channel` is closed, then kills and reaps what still
/// runs.
/// @return  the process's exit code; 0 = the server ended the conversation
int run_zygote(Channel& channel, const ChildMain& child_main);

struct WorkerProgram {
  /// Before anything is locked: loads what a child could not load later. May be empty.
  std::function<void()> warm_up;
  /// In each child. It calls Lockdown::apply before it looks at a byte that is not the server's.
  std::function<int(Channel&, const Lockdown&)> serve;
  /// That a child may make from then on.
  CallList calls = CallList::kDecoder;
};

/// main() of a worker program that spawn_child started: prepares the lock-down, says hello, serves.
[[noreturn]] void run_worker(const WorkerProgram& program);

}  // namespace tessera::sandbox
