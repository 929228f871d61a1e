// The engine thread: takes requests from its inbox and steps the engine while there is work.
#pragma once

#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "core/bounded_queue.h"
#include "core/clock.h"
#include "core/in_flight.h"
#include "core/mutex.h"
#include "generate/engine.h"
#include "generate/engine_options.h"
#include "runtime/runtime.h"

namespace tessera::generate {

/// @thread try_submit and stats from any thread; construction, shutdown and destruction from the
///         owner's
class EngineLoop {
 public:
  /// @param clock     outlives the loop
  /// @param observer  outlives the loop; may be null
  EngineLoop(std::unique_ptr<runtime::Executor> executor,
             std::shared_ptr<const runtime::Model> model, const EngineOptions& options,
             const Clock& clock, EngineObserver* observer);
  ~EngineLoop() { shutdown(); }
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  /// Takes a request whose prompt and embeddings are filled; from now on its time counts as
  /// Stage::kScheduleWait. Never blocks. @return false, with the item untouched, when full or
  /// shut down
  bool try_submit(std::unique_ptr<InFlight>&& request);

  /// Ends every request with unavailable / shutting_down, and the model call that runs. Idempotent.
  void shutdown();

  /// Features have arrived, or will not. From any thread.
  void wake() { inbox_.wake(); }

  /// Drops what is kept of a tenant, before the next step. From any thread.
  void forget(TenantId tenant);
  /// The same of everybody.
  void forget_all();

  /// As of the last step.
  EngineStats stats() const;

  /// How long the step that runs has taken; zero when there is nothing to do. Grows without end
  /// when the model hangs.
  Duration no_progress() const;

 private:
  void run(const std::stop_token& stop);
  void take_requests();
  void forget_tenants();
  void publish_stats();

  const Clock& clock_;
  BoundedQueue<std::unique_ptr<InFlight>> inbox_;
  Engine engine_;  // engine thread only
  mutable Mutex mutex_;
  EngineStats stats_ TSR_GUARDED_BY(mutex_);
  std::vector<TenantId> forgotten_ TSR_GUARDED_BY(mutex_);  // since the last step, by operators
  bool forgets_all_ TSR_GUARDED_BY(mutex_) = false;
  TimePoint progress_ TSR_GUARDED_BY(mutex_);  // end of the last step
  std::jthread thread_;
};

}  // namespace tessera::generate
