#include "runtime/fake/fake_control.h"

#include <utility>

namespace tessera::runtime::fake {

void FakeControl::fail(Call call, int nth, Effect effect) {
  MutexLock lock(mutex_);
  faults_.push_back({call, nth, effect});
}

int FakeControl::n_calls(Call call) const {
  MutexLock lock(mutex_);
  return n_calls_[static_cast<std::size_t>(call)];
}

int FakeControl::n_violations() const {
  MutexLock lock(mutex_);
  return n_violations_;
}

std::string FakeControl::last_violation() const {
  MutexLock lock(mutex_);
  return last_violation_;
}

void FakeControl::wait_until_held() {
  MutexLock lock(mutex_);
  while (n_held_ == 0) changed_.wait(mutex_, {});
}

void FakeControl::release() {
  {
    MutexLock lock(mutex_);
    released_ = true;
  }
  changed_.notify_all();
}

std::optional<Effect> FakeControl::count(Call call) {
  MutexLock lock(mutex_);
  const int nth = ++n_calls_[static_cast<std::size_t>(call)];
  for (const Fault& fault : faults_) {
    if (fault.call == call && fault.nth == nth) return fault.effect;
  }
  return std::nullopt;
}

bool FakeControl::hold(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  ++n_held_;
  changed_.notify_all();
  while (!released_) {
    if (!changed_.wait(mutex_, stop)) return false;
  }
  return true;
}

void FakeControl::violation(std::string message) {
  MutexLock lock(mutex_);
  ++n_violations_;
  last_violation_ = std::move(message);
}

}  // namespace tessera::runtime::fake
