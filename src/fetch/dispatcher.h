// The server's side of the channel: one thread that owns the fetcher process, sends it orders, and
// hands its replies to whoever waits for them.
//
// The fetcher is started with the server and started again when it dies, hangs or breaks the
// protocol; each time it dies without a reply in between, the pause before the next start doubles.
// A death by SIGSYS, a forbidden call, is logged as an error.
// What it was fetching ends with kLost. What had not been sent yet waits for the next one, but not
// for a third.
//
//   queued ──sent──▶ sent ──reply, loss, shutdown──▶ ended ──take──▶ gone
//      └──────cancel────┴─────────cancel───────────────┴────────────▶ gone
//
// Bounded by wire::kFetchesMax fetches that are queued or sent, and by a number for each tenant.
// @thread construction and shutdown by the owner; the rest from any thread
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/ids.h"
#include "core/mutex.h"
#include "core/result.h"
#include "core/unique_fd.h"
#include "fetch/wire.h"
#include "sandbox/child_process.h"

namespace tessera::fetch {

struct DispatcherOptions {
  std::string fetcher_path;  // absolute

  /// Pause before a dead fetcher is started again: short enough for a request to wait through, and
  /// long enough that one that dies at once costs no processor.
  std::chrono::milliseconds restart_delay_min{100};
  std::chrono::milliseconds restart_delay_max{5000};

  /// A fetcher that is this late with a reply hangs: its own timers should have fired.
  std::chrono::milliseconds reply_grace{2000};
};

struct FetchEnd {
  enum class Kind { kReplied, kLost, kShutDown };
  Kind kind = Kind::kLost;
  wire::Outcome outcome = wire::Outcome::kFailed;  // with kReplied
  std::size_t size_bytes = 0;                      // ≤ the order's bytes_max
};

using FetchId = Id<struct FetchTag, std::uint64_t>;

class Dispatcher {
 public:
  /// @errors  unavailable (no descriptor left)
  static Result<std::unique_ptr<Dispatcher>> create(DispatcherOptions options,
                                                    const wire::Configure& rules);
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  ~Dispatcher() { shutdown(); }

  /// Queues a fetch. Nothing when the tenant or all tenants together have as many as may be.
  /// @param output  of order.bytes_max bytes; the caller keeps another descriptor of it
  std::optional<FetchId> try_start(TenantId tenant, std::size_t tenant_max,
                                   const wire::Order& order, UniqueFd output);

  /// Forgets a fetch, wherever it is. Its connection is closed soon.
  void cancel(FetchId id);

  /// The end of a fetch, once.
  std::optional<FetchEnd> take_end(FetchId id);

  /// Grows whenever a fetch ended or a place became free.
  std::uint64_t version() const;

  /// Waits until version() is above `seen`.
  /// @return  false when stop was requested
  bool wait_beyond(std::uint64_t seen, const std::stop_token& stop);

  /// Ends all fetches with kShutDown, kills the fetcher, joins. Idempotent.
  void shutdown();

  /// For tests: 0 while there is none.
  pid_t fetcher_pid() const { return pid_.load(); }

 private:
  enum class State { kQueued, kSent, kEnded };
  struct Entry {
    TenantId tenant;
    State state = State::kQueued;
    wire::Order order;
    UniqueFd output;    // until it is sent
    TimePoint overdue;  // with kSent
    FetchEnd end;       // with kEnded
  };
  /// What is to be sent next: a fetch with its output, or a cancellation.
  struct Outgoing {
    wire::Order order;
    UniqueFd output;
  };

  Dispatcher(DispatcherOptions options, const wire::Configure& rules, UniqueFd wake);

  void run(const std::stop_token& stop);
  void ensure_fetcher();
  bool wait_for_events();
  std::optional<Outgoing> next_outgoing();
  void send_queued();
  void receive_reply();
  bool accept_reply(const wire::Reply& reply);
  void lose_fetcher();
  void report_loss();
  void end_queued(FetchEnd::Kind kind) TSR_REQUIRES(mutex_);
  void end_all(State state, FetchEnd::Kind kind) TSR_REQUIRES(mutex_);
  std::optional<TimePoint> next_deadline() const;
  void wake() const;

  const DispatcherOptions options_;
  const wire::Configure rules_;
  const UniqueFd wake_;  // eventfd: readable when the thread has something to look at
  std::atomic<pid_t> pid_{0};

  // The thread's alone.
  std::optional<sandbox::SpawnedChild> fetcher_;
  TimePoint restart_at_{};
  std::chrono::milliseconds restart_delay_;
  int n_losses_ = 0;  // since the last reply

  mutable Mutex mutex_;
  CondVar changed_;
  std::uint64_t version_ TSR_GUARDED_BY(mutex_) = 0;
  std::uint64_t next_id_ TSR_GUARDED_BY(mutex_) = 1;
  bool stopped_ TSR_GUARDED_BY(mutex_) = false;
  std::map<std::uint64_t, Entry> entries_ TSR_GUARDED_BY(mutex_);
  std::deque<std::uint64_t> queued_ TSR_GUARDED_BY(mutex_);   // ids of kQueued entries, in order
  std::deque<std::uint64_t> cancels_ TSR_GUARDED_BY(mutex_);  // each was sent: ≤ kFetchesMax

  std::jthread thread_;
};

}  // namespace tessera::fetch
