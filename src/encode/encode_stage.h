// Stage 5: prepared tiles → visual tokens, on the one encode thread, step by step.
//
// Owns the encoder and its queue (encode_queue.h: one entry for each tile, many waiters). A step is
// one tile, or several of one shape where the encoder takes batches and their patches fit. Between
// steps, requests that were cancelled or are late leave; inside a step the encoder stops when the
// last who waits for any of its tiles was cancelled. What was computed goes to the feature cache,
// which also says whether a tile has been computed since its request was planned.
//
// A request goes on with its first missing tile; the others follow it.
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
  /// @param duration  of a tile in a batch: its part of it
  /// @thread encode thread
  virtual void on_encode(int n_patches, Duration duration) = 0;
  /// Tiles that a new request waits for together with an earlier one.
  /// @thread that of try_submit
  virtual void on_shared(int n_tiles) = 0;
};

/// Both are called on the encode thread, the second also on any other.
struct EncodeHooks {
  /// Takes a request that goes on, still in Stage::kEncode: its embeddings are complete, or come
  /// through InFlight::arriving.
  std::function<void(std::unique_ptr<InFlight>)> next;
  /// Tells whoever has such requests to look at them.
  ArrivingFeatures::Wake wake;
};

struct EncodeOptions {
  /// Of the queue; at least as many as may be admitted, so that it never refuses.
  std::size_t capacity = 0;
  /// Of a step with several tiles; 0 = each tile alone.
  int n_patches_max = 0;
};

/// @thread construction and shutdown by the owner; try_submit, queue_depth and no_progress from any
class EncodeStage {
 public:
  /// @param encoder   may be null: then no request with images may come
  /// @param cache     outlives the stage
  /// @param observer  may be null; outlives the stage
  EncodeStage(std::unique_ptr<runtime::Encoder> encoder, cache::FeatureStore& cache,
              const EncodeOptions& options, const Clock& clock, EncodeObserver* observer,
              EncodeHooks hooks);
  ~EncodeStage() { shutdown(); }

  /// Queues a request of which embeddings are missing; those have tiles and keys. False (item
  /// untouched) when full or shut down.
  [[nodiscard]] bool try_submit(std::unique_ptr<InFlight>&& request);

  /// Ends the encode that runs and everything queued with `unavailable`; joins. Idempotent.
  void shutdown();

  std::size_t queue_depth() const;

  /// How long something has been waiting while no step was done; zero when nothing waits. Grows
  /// with every tile that takes long, and without end when the encoder hangs.
  Duration no_progress() const;

 private:
  using Step = EncodeQueue::Step;
  using Features = std::vector<Result<std::shared_ptr<const Embedding>>>;  // one a tile

  /// Who still wants the tiles that are being encoded.
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
  Step wait_for_step(const std::stop_token& stop);
  void do_step(const Step& step, const std::stop_token& stop);
  Features features_of(const Step& step, const std::stop_token& stop);
  std::vector<Result<Embedding>> encode(const Step& tiles, const std::stop_token& stop);
  Result<std::shared_ptr<const Embedding>> keep(const EncodeQueue::WantedTile& tile,
                                                Embedding embedding, Duration cost);
  void take_off(const Step& step);
  void watch(EncodeQueue::Waiter& waiter) TSR_REQUIRES(mutex_);
  void land(const Step& step, const Features& features);
  void end_stopped();

  const std::unique_ptr<runtime::Encoder> encoder_;
  cache::FeatureStore& cache_;
  const EncodeOptions options_;
  const Clock& clock_;
  EncodeObserver* const observer_;
  const EncodeHooks hooks_;

  mutable Mutex mutex_;
  CondVar not_empty_;
  bool closed_ TSR_GUARDED_BY(mutex_) = false;
  EncodeQueue queue_ TSR_GUARDED_BY(mutex_);
  Step running_ TSR_GUARDED_BY(mutex_);
  TimePoint progress_ TSR_GUARDED_BY(mutex_);  // the last, or when the first of those here came
  std::unique_ptr<Flight> flight_ TSR_GUARDED_BY(mutex_);  // of running_
  // Before flight_ in destruction: they point into it.
  EncodeTimes times_;  // encode thread only
  std::list<std::stop_callback<Leave>> watches_ TSR_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace tessera::encode
