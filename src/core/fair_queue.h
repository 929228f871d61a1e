// A queue between two stages that serves tenants in turn: whoever has much waiting makes nobody
// else wait for more than what runs. Inside a tenant, first come, first served. Bounded, closable,
// cancellable; owned by its consumer.
#pragma once

#include <cstddef>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <stop_token>
#include <utility>

#include "core/ids.h"
#include "core/mutex.h"

namespace tessera {

/// @thread all methods are thread-safe
template <typename T>
class FairQueue {
 public:
  /// @param capacity  over all tenants
  explicit FairQueue(std::size_t capacity) : capacity_(capacity) {}

  /// Moves `item` in when there is room; leaves it untouched when full or closed.
  [[nodiscard]] bool try_push(TenantId tenant, T&& item) {
    {
      MutexLock lock(mutex_);
      if (closed_ || n_items_ >= capacity_) return false;
      items_[tenant].push_back(std::move(item));
      ++n_items_;
    }
    not_empty_.notify_one();
    return true;
  }

  /// Waits for an item. Nothing when stopped, or closed and empty.
  std::optional<T> pop(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    while (n_items_ == 0) {
      if (closed_ || !not_empty_.wait(mutex_, stop)) return std::nullopt;
    }
    if (stop.stop_requested()) return std::nullopt;
    return take();
  }

  std::optional<T> try_pop() {
    MutexLock lock(mutex_);
    if (n_items_ == 0) return std::nullopt;
    return take();
  }

  /// Takes nothing more; what is in it can still be popped.
  void close() {
    {
      MutexLock lock(mutex_);
      closed_ = true;
    }
    not_empty_.notify_all();
  }

  std::size_t size() const {
    MutexLock lock(mutex_);
    return n_items_;
  }

 private:
  /// The first item of the tenant that comes after the one that was served last.
  T take() TSR_REQUIRES(mutex_) {
    auto turn = items_.upper_bound(served_);
    if (turn == items_.end()) turn = items_.begin();
    served_ = turn->first;
    T item = std::move(turn->second.front());
    turn->second.pop_front();
    if (turn->second.empty()) items_.erase(turn);
    --n_items_;
    return item;
  }

  const std::size_t capacity_;
  mutable Mutex mutex_;
  CondVar not_empty_;
  std::map<TenantId, std::deque<T>> items_ TSR_GUARDED_BY(mutex_);  // of tenants who have some
  TenantId served_ TSR_GUARDED_BY(mutex_){};
  std::size_t n_items_ TSR_GUARDED_BY(mutex_) = 0;
  bool closed_ TSR_GUARDED_BY(mutex_) = false;
};

}  // namespace tessera
