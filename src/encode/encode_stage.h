// Stage 5: prepared tiles → visual tokens, on the one encode thread.
//
// Owns the encoder and its queue (encode_queue.h: one entry for each tile, many waiters). Between
// tiles, requests that were cancelled or are late leave; inside a tile the encoder stops when the
// last who waits for it was cancelled. What was computed goes to the feature cache, which also says
// whether a tile has been computed since its request was planned.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <stop_token>
#include <thread>

#include "cache/feature_store.h"
#include "core/clock.h"
#include "core/in_flight.h"
#include "core/mutex.h"
#include "encode/encode_queue.h"
#include "runtime/runtime.h"

namespace tessera::encode {

/// What the stage tells about its work; for metrics.
class EncodeObserver {
 public:
  virtual ~EncodeObserver() = default;
  /// @thread encode thread
  virtual void on_encode(int n_patches, Duration duration) = 0;
  /// Tiles that a new request waits for together with an earlier one.
  /// @thread that of try_submit
  virtual void on_shared(int n_tiles) = 0;
};

/// @thread construction and shutdown by the owner; try_submit from any thread
class EncodeStage {
 public:
  /// Takes the request whose embeddings are complete, still in Stage::kEncode.
  using Next = std::function<void(std::unique_ptr<InFlight>)>;

  /// @param encoder   may be null: then no request with images may come
  /// @param cache     outlives the stage
  /// @param capacity  of the queue; at least as many as may be admitted, so that it never refuses
  /// @param observer  may be null; outlives the stage
  EncodeStage(std::unique_ptr<runtime::Encoder> encoder, cache::FeatureStore& cache,
              std::size_t capacity, const Clock& clock, EncodeObserver* observer, Next next);
  ~EncodeStage() { shutdown(); }

  /// Queues a request of which embeddings are missing; those have tiles and keys. False (item
  /// untouched) when full or shut down.
  [[nodiscard]] bool try_submit(std::unique_ptr<InFlight>&& request);

  /// Ends the encode that runs and everything queued with `unavailable`; joins. Idempotent.
  void shutdown();

  std::size_t queue_depth() const;

 private:
  /// Who still wants the tile that is being encoded.
  struct Flight {
    std::atomic<int> n_waiting{0};
    std::stop_source stop;
  };
  /// One waiter leaves. Takes no lock: it runs inside request_stop() of whoever cancels.
  struct Leave {
    Flight* flight;
    void operator()() const {
      if (flight->n_waiting.fetch_sub(1) == 1) flight->stop.request_stop();
    }
  };

  void run(const std::stop_token& stop);
  EncodeQueue::WantedTile* wait_for_tile(const std::stop_token& stop);
  void do_tile(EncodeQueue::WantedTile& tile, const std::stop_token& stop);
  Result<std::shared_ptr<const Embedding>> encode(const EncodeQueue::WantedTile& tile,
                                                  const std::stop_token& stop);
  void take_off(EncodeQueue::WantedTile& tile);
  void watch(InFlight& waiter) TSR_REQUIRES(mutex_);
  void land(EncodeQueue::WantedTile& tile, Result<std::shared_ptr<const Embedding>> encoded);
  void end_stopped();

  const std::unique_ptr<runtime::Encoder> encoder_;
  cache::FeatureStore& cache_;
  const std::size_t capacity_;
  const Clock& clock_;
  EncodeObserver* const observer_;
  const Next next_;

  mutable Mutex mutex_;
  CondVar not_empty_;
  bool closed_ TSR_GUARDED_BY(mutex_) = false;
  EncodeQueue queue_ TSR_GUARDED_BY(mutex_);
  const EncodeQueue::WantedTile* running_ TSR_GUARDED_BY(mutex_) = nullptr;
  std::unique_ptr<Flight> flight_ TSR_GUARDED_BY(mutex_);  // of running_
  // Before flight_ in destruction: they point into it.
  std::list<std::stop_callback<Leave>> watches_ TSR_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace tessera::encode
