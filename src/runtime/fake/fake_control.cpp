#include "runtime/fake/fake_control.h"

#include <chrono>
#include <cstdlib>
#include <utility>

namespace tessera::runtime::fake {
namespace {

/// How often a slow call asks whether it is to stop.
constexpr std::chrono::milliseconds kStopLook{1};

}  // namespace

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
    if (fault.call != call || fault.nth != nth) continue;
    if (fault.effect == Effect::kDies) std::abort();
    if (fault.effect == Effect::kLost) ++n_losses_;
    return fault.effect;
  }
  return std::nullopt;
}

Result<void> FakeControl::check(Call call, const char* reason, const char* message) {
  const auto effect = count(call);
  if (!effect) return {};
  if (*effect == Effect::kLost) return engine_lost_error();
  return make_error(ErrorCode::kInternal, reason, message);
}

int FakeControl::n_losses() const {
  MutexLock lock(mutex_);
  return n_losses_;
}

bool FakeControl::hold(const ShouldStop& stop) {
  MutexLock lock(mutex_);
  ++n_held_;
  changed_.notify_all();
  while (!released_) {
    if (stop && stop()) return false;
    changed_.wait_for(mutex_, {}, kStopLook);
  }
  return true;
}

void FakeControl::violation(std::string message) {
  MutexLock lock(mutex_);
  ++n_violations_;
  last_violation_ = std::move(message);
}

}  // namespace tessera::runtime::fake
