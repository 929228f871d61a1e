// std::mutex with clang's thread-safety annotations: an unlocked access to a TSR_GUARDED_BY member
// is a compile error in our presets.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

#if defined(__clang__)
#define TSR_ANNOTATE(x) __attribute__((x))
#else
#define TSR_ANNOTATE(x)
#endif
#define TSR_CAPABILITY(name) TSR_ANNOTATE(capability(name))
#define TSR_SCOPED_CAPABILITY TSR_ANNOTATE(scoped_lockable)
#define TSR_GUARDED_BY(mutex) TSR_ANNOTATE(guarded_by(mutex))
#define TSR_REQUIRES(...) TSR_ANNOTATE(requires_capability(__VA_ARGS__))
#define TSR_ACQUIRE(...) TSR_ANNOTATE(acquire_capability(__VA_ARGS__))
#define TSR_RELEASE(...) TSR_ANNOTATE(release_capability(__VA_ARGS__))
#define TSR_NO_THREAD_SAFETY_ANALYSIS TSR_ANNOTATE(no_thread_safety_analysis)

namespace tessera {

class TSR_CAPABILITY("mutex") Mutex {
 public:
  void lock() TSR_ACQUIRE() { mutex_.lock(); }
  void unlock() TSR_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class TSR_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TSR_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() TSR_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// Waits with a Mutex held. The caller loops over its own condition, so that the analysis sees
/// every guarded read.
class CondVar {
 public:
  /// Returns on a notification, a spurious wake-up, or a stop request.
  /// @return false when stop was requested
  bool wait(Mutex& mutex, const std::stop_token& stop)
      TSR_REQUIRES(mutex) TSR_NO_THREAD_SAFETY_ANALYSIS {
    // The predicate form is what makes a stop request wake the wait; "true on second look" turns
    // it into a single wait.
    bool woken = false;
    return condition_.wait(mutex, stop, [&woken] { return std::exchange(woken, true); });
  }
  /// The same, and not longer than `at_most`.
  bool wait_for(Mutex& mutex, const std::stop_token& stop, std::chrono::milliseconds at_most)
      TSR_REQUIRES(mutex) TSR_NO_THREAD_SAFETY_ANALYSIS {
    bool woken = false;
    condition_.wait_for(mutex, stop, at_most, [&woken] { return std::exchange(woken, true); });
    return !stop.stop_requested();
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable_any condition_;
};

}  // namespace tessera
