#include "generate/engine_loop.h"

#include <pthread.h>

#include <optional>
#include <utility>

namespace tessera::generate {
namespace {

/// How long the engine waits for features without a look at its requests' deadlines.
constexpr std::chrono::milliseconds kDeadlineLook{500};

/// How long it waits for requests without a reason to wake up.
constexpr std::chrono::hours kIdleLook{1};

}  // namespace

EngineLoop::EngineLoop(std::unique_ptr<runtime::Executor> executor,
                       std::shared_ptr<const runtime::Model> model, const EngineOptions& options,
                       const Clock& clock, EngineObserver* observer)
    : clock_(clock),
      inbox_(options.n_waiting_max),
      engine_(std::move(executor), std::move(model), options, clock, observer),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

bool EngineLoop::try_submit(std::unique_ptr<InFlight>&& request) {
  // Before the push, because the engine may hold the request right after it.
  const Stage stage = request->trace.stage();
  request->trace.enter(Stage::kScheduleWait, clock_.now());
  if (inbox_.try_push(std::move(request))) return true;
  request->trace.enter(stage, clock_.now());  // NOLINT(bugprone-use-after-move): untouched
  return false;
}

void EngineLoop::shutdown() {
  inbox_.close();
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

EngineStats EngineLoop::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

Duration EngineLoop::no_progress() const {
  MutexLock lock(mutex_);
  const bool is_idle = stats_.load.n_waiting_requests == 0 && stats_.load.n_running_sequences == 0;
  return is_idle ? Duration{} : clock_.now() - progress_;
}

void EngineLoop::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "engine");
  publish_stats();
  while (!stop.stop_requested()) {
    if (engine_.idle()) {
      // Nothing is cancelled here, for nothing is here.
      if (auto request = inbox_.pop_or_wake(stop, kIdleLook)) engine_.add(std::move(*request));
      publish_stats();
    } else if (engine_.starved()) {
      if (auto request = inbox_.pop_or_wake(stop, kDeadlineLook)) engine_.add(std::move(*request));
    }
    take_requests();
    forget_tenants();
    if (!engine_.idle()) engine_.step(stop);
    publish_stats();
  }
  const Error error = shutting_down_error();
  engine_.end_all(error);
  while (auto request = inbox_.try_pop()) (*request)->end(error, clock_.now());
  publish_stats();
}

void EngineLoop::take_requests() {
  while (engine_.takes_more()) {
    auto request = inbox_.try_pop();
    if (!request) return;
    engine_.add(std::move(*request));
  }
}

void EngineLoop::forget(TenantId tenant) {
  {
    MutexLock lock(mutex_);
    forgotten_.push_back(tenant);
  }
  wake();
}

void EngineLoop::forget_all() {
  {
    MutexLock lock(mutex_);
    forgets_all_ = true;
  }
  wake();
}

void EngineLoop::forget_tenants() {
  std::vector<TenantId> forgotten;
  bool all = false;
  {
    MutexLock lock(mutex_);
    forgotten.swap(forgotten_);
    all = std::exchange(forgets_all_, false);
  }
  if (all) engine_.forget_all();
  for (const TenantId tenant : forgotten) engine_.forget(tenant);
}

void EngineLoop::publish_stats() {
  EngineStats stats = engine_.stats();
  stats.load.n_waiting_requests += inbox_.size();
  MutexLock lock(mutex_);
  progress_ = clock_.now();
  stats_ = stats;
}

}  // namespace tessera::generate
