// Monotonic time as a parameter. Stages take a Clock by reference; tests pass a ManualClock.
#pragma once

#include <chrono>

#include "core/mutex.h"

namespace tessera {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

inline double to_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// @thread all methods are thread-safe
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

/// Moves only when told to; for tests and simulation.
class ManualClock final : public Clock {
 public:
  TimePoint now() const override {
    MutexLock lock(mutex_);
    return now_;
  }
  void advance(Duration by) {
    MutexLock lock(mutex_);
    now_ += by;
  }

 private:
  mutable Mutex mutex_;
  TimePoint now_ TSR_GUARDED_BY(mutex_){};
};

}  // namespace tessera
