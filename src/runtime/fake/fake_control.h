// How a test looks into the fake runtime and tells it to fail: a fault plan, counters of calls, a
// latch for slow calls, and the violations of the runtime contract that the fake saw.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "core/result.h"
#include "runtime/executor.h"

namespace tessera::runtime::fake {

/// The calls that can be told to fail.
enum class Call {
  kApplyChatTemplate,
  kTokenize,
  kPrepare,
  kEncode,
  kDecodeTokens,
  kDecodeVisual,  // with visual rows, whether or not text is beside them
  kMakeSampler,
  kSample,
  kSetAside,
  kBringBack,
};

inline constexpr std::size_t kCallCount = 10;

enum class Effect {
  kError,         // calls that return a Result: `internal`; those that return a bool: false
  kCancelled,     // encode only
  kSlow,          // encode and decode: waits for release(), encode also for its caller to say stop
  kNoKvSlot,      // decode only, as those below; nothing is computed
  kAborted,       // half of the rows are computed
  kUntilStopped,  // the same, when the caller says so; never by itself
  kInvalidBatch,  // nothing is computed
  kFatal,         // half of the rows are computed
  kLost,          // any call: as if the process of the model had died (Availability)
  kDies,          // any call: this process aborts
};

/// @thread all methods are thread-safe
class FakeControl {
 public:
  /// The `nth` call of this kind since construction (1 = the first) has this effect.
  void fail(Call call, int nth, Effect effect);

  int n_calls(Call call) const;

  /// How often the contract of runtime.h was violated: wrong thread, positions, rows, ids, …
  int n_violations() const;
  std::string last_violation() const;

  /// Waits until a slow call has begun. Empty waits are the test's fault: it hangs.
  void wait_until_held();
  /// Lets slow calls go on, those to come as well.
  void release();

  // --- for the fake itself ---

  /// Counts a call. @return what the plan says about it
  std::optional<Effect> count(Call call);
  /// Counts a call that returns a Result.
  /// @errors  internal with these words, or engine_lost, when the plan says so
  Result<void> check(Call call, const char* reason, const char* message);
  /// How often everything was lost.
  int n_losses() const;
  /// Waits for release(). @return false when stopped
  bool hold(const ShouldStop& stop);
  void violation(std::string message);

 private:
  struct Fault {
    Call call{};
    int nth = 0;
    Effect effect{};
  };

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Fault> faults_ TSR_GUARDED_BY(mutex_);
  std::array<int, kCallCount> n_calls_ TSR_GUARDED_BY(mutex_){};
  int n_losses_ TSR_GUARDED_BY(mutex_) = 0;
  int n_violations_ TSR_GUARDED_BY(mutex_) = 0;
  std::string last_violation_ TSR_GUARDED_BY(mutex_);
  int n_held_ TSR_GUARDED_BY(mutex_) = 0;  // slow calls so far
  bool released_ TSR_GUARDED_BY(mutex_) = false;
};

}  // namespace tessera::runtime::fake
