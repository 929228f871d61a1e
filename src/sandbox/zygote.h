// The server's half of a zygote: starts the worker program once, before there are weights and
// threads to fork, and asks it for one single-use child a request.
//
// A fork of the server would copy page tables of gigabytes, and an exec would load the codecs'
// libraries anew. Asking is one message; ending a child is closing a descriptor. Neither waits.
//
//   Zygote       owns the worker program. fork_child() comes from any thread; the destructor ends
//                the program and every child of it.
//   ZygoteChild  owns one child. Whoever destroys it, in whatever state, has the zygote kill and
//                reap it; nothing waits for that.
//
// Failure: a zygote that died is noticed by the next fork_child() and started again, with back-off
// against a machine on which it cannot live. Its children died with it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/clock.h"
#include "core/mutex.h"
#include "core/result.h"
#include "sandbox/channel.h"
#include "sandbox/child_process.h"
#include "sandbox/sandbox_level.h"

namespace tessera::sandbox {

/// @thread one thread at a time
class ZygoteChild {
 public:
  ZygoteChild(Channel data, Channel life) : data_(std::move(data)), life_(std::move(life)) {}

  /// The conversation with the child. It ends when the child does.
  Channel& channel() { return data_; }

  /// Waits for the zygote's word that the child runs. Call once, before wait_end().
  /// @return  kOk; kFailed = the zygote refused (too many children, no memory); kClosed = the
  ///          zygote died first, so that nothing ran; kTimeout; kStopped
  [[nodiscard]] IoStatus wait_started(const WaitLimits& wait);

  /// Waits until the child has ended and is reaped.
  /// @return  nothing when the wait's limits came first, or when the zygote is gone too
  std::optional<ExitStatus> wait_end(const WaitLimits& wait);

  /// Has the child killed; returns at once. The destructor does the same.
  void kill() { life_.close(); }

 private:
  Channel data_;
  Channel life_;
};

struct ZygoteOptions {
  std::string path;           // of the worker program; absolute
  bool allow_unsafe = false;  // run at level C instead of refusing
};

/// A machine that is out of breath starts a child late once or twice; a process that hangs never.
inline constexpr int kSilencesMax = 3;

/// @thread fork_child, record_start and level from any thread; construction and destruction by the
/// owner
class Zygote {
 public:
  /// Starts the worker program and waits for its hello.
  /// @param clock  for the back-off; outlives the zygote
  /// @errors  unavailable: `zygote_failed` (it ended, or said nothing sensible in time),
  ///          `sandbox_unavailable` (level C, not allowed), or as spawn_child
  /// @cost    ~10 ms: program, libraries, namespaces, self-test
  static Result<std::unique_ptr<Zygote>> start(ZygoteOptions options, const Clock& clock);

  /// The same in two halves, so that other work can be done between them.
  class Starting;
  static Result<Starting> begin(ZygoteOptions options);
  static Result<std::unique_ptr<Zygote>> finish(Starting starting, const Clock& clock);

  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  /// What the first start found; later ones, on the same kernel, find the same or are refused.
  SandboxLevel level() const { return level_; }

  /// Asks for a child. Returns when the message is on its way, mostly long before the fork.
  /// Restarts a zygote that is gone, and then waits for its hello.
  /// @errors  unavailable: no descriptors left, or no zygote and too early to try again
  Result<ZygoteChild> fork_child();

  /// Whether a child that was asked for started in time. A zygote that is silent kSilencesMax times
  /// in a row hangs: it is killed, and the next fork_child() starts another. One that the kernel
  /// shows as stopped is killed at the first silence.
  void record_start(bool in_time);

  /// For tests.
  pid_t pid();

 private:
  struct Running {
    ChildProcess process;
    Channel channel;
    SandboxLevel level;
  };

  Zygote(ZygoteOptions options, const Clock& clock, Running running);

  static Result<SpawnedChild> spawn(const ZygoteOptions& options);
  static Result<Running> greet(SpawnedChild spawned, const ZygoteOptions& options);
  static void end(Running& running);
  Result<void> relaunch() TSR_REQUIRES(mutex_);

  const ZygoteOptions options_;
  const Clock& clock_;
  const SandboxLevel level_;

  Mutex mutex_;
  std::optional<Running> running_ TSR_GUARDED_BY(mutex_);  // empty = gone, not yet started again
  int n_silences_ TSR_GUARDED_BY(mutex_) = 0;              // in a row
  int n_relaunches_ TSR_GUARDED_BY(mutex_) = 0;            // in short succession
  TimePoint launched_at_ TSR_GUARDED_BY(mutex_);
  TimePoint next_launch_at_ TSR_GUARDED_BY(mutex_) = TimePoint::min();
};

/// A worker program that runs and has not been heard of. Ends it when destroyed.
class Zygote::Starting {
 private:
  friend class Zygote;
  Starting(ZygoteOptions options, SpawnedChild spawned)
      : options_(std::move(options)), spawned_(std::move(spawned)) {}

  ZygoteOptions options_;
  SpawnedChild spawned_;
};

}  // namespace tessera::sandbox
