// The one queue between two stages. Bounded, closable, cancellable; owned by its consumer.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <stop_token>
#include <utility>

#include "core/mutex.h"

namespace tessera {

/// @thread all methods are thread-safe
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  /// Moves `item` in when there is room; leaves it untouched when full or closed.
  [[nodiscard]] bool try_push(T&& item) {
    {
      MutexLock lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(item));
    }
    not_empty_.notify_one();
    return true;
  }

  /// Waits for room. Leaves `item` untouched and returns false when closed or stopped.
  [[nodiscard]] bool push(T&& item, const std::stop_token& stop) {
    {
      MutexLock lock(mutex_);
      while (!closed_ && items_.size() >= capacity_) {
        if (!not_full_.wait(mutex_, stop)) return false;
      }
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    not_empty_.notify_one();
    return true;
  }

  /// Waits for an item. Empty when stopped, or when closed and drained.
  std::optional<T> pop(const std::stop_token& stop) {
    std::optional<T> item;
    {
      MutexLock lock(mutex_);
      while (items_.empty()) {
        if (closed_ || !not_empty_.wait(mutex_, stop)) return std::nullopt;
      }
      item.emplace(std::move(items_.front()));
      items_.pop_front();
    }
    not_full_.notify_one();
    return item;
  }

  /// Waits for an item, for wake(), or for `at_most`; nothing after the latter two, and as pop().
  std::optional<T> pop_or_wake(const std::stop_token& stop, std::chrono::milliseconds at_most) {
    {
      MutexLock lock(mutex_);
      if (items_.empty() && !closed_ && !woken_) not_empty_.wait_for(mutex_, stop, at_most);
      woken_ = false;
    }
    return try_pop();
  }

  /// Ends the pop_or_wake() that waits, or the next one.
  void wake() {
    {
      MutexLock lock(mutex_);
      woken_ = true;
    }
    not_empty_.notify_one();
  }

  std::optional<T> try_pop() {
    std::optional<T> item;
    {
      MutexLock lock(mutex_);
      if (items_.empty()) return std::nullopt;
      item.emplace(std::move(items_.front()));
      items_.pop_front();
    }
    not_full_.notify_one();
    return item;
  }

  /// Refuses new items from now on; what is inside can still be popped.
  void close() {
    {
      MutexLock lock(mutex_);
      closed_ = true;
    }
    not_empty_.notify_all();
    not_full_.notify_all();
  }

  std::size_t size() const {
    MutexLock lock(mutex_);
    return items_.size();
  }

 private:
  const std::size_t capacity_;
  mutable Mutex mutex_;
  CondVar not_empty_;
  CondVar not_full_;
  std::deque<T> items_ TSR_GUARDED_BY(mutex_);
  bool closed_ TSR_GUARDED_BY(mutex_) = false;
  bool woken_ TSR_GUARDED_BY(mutex_) = false;
};

}  // namespace tessera
