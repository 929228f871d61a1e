#include "encode/encode_stage.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/either_stop.h"

namespace tessera::encode {

EncodeStage::EncodeStage(std::unique_ptr<runtime::Encoder> encoder, cache::FeatureStore& cache,
                         std::size_t capacity, const Clock& clock, EncodeObserver* observer,
                         Next next)
    : encoder_(std::move(encoder)),
      cache_(cache),
      capacity_(capacity),
      clock_(clock),
      observer_(observer),
      next_(std::move(next)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {
  pthread_setname_np(thread_.native_handle(), "encode");
}

bool EncodeStage::try_submit(std::unique_ptr<InFlight>&& request) {
  int n_shared = 0;
  {
    MutexLock lock(mutex_);
    if (closed_ || queue_.size() >= capacity_) return false;
    InFlight& added = *request;
    added.trace.enter(Stage::kEncodeWait, clock_.now());
    n_shared = queue_.add(std::move(request), clock_.now());
    const bool joins = running_ != nullptr &&
                       std::ranges::find(running_->waiters, &added) != running_->waiters.end();
    if (joins) watch(added);
  }
  not_empty_.notify_one();
  if (n_shared > 0 && observer_ != nullptr) observer_->on_shared(n_shared);
  return true;
}

void EncodeStage::shutdown() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
  }
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  Requests rest;
  {
    MutexLock lock(mutex_);
    rest = queue_.take_if([](const InFlight&) { return true; });
  }
  for (auto& request : rest) request->end(shutting_down_error(), clock_.now());
}

std::size_t EncodeStage::queue_depth() const {
  MutexLock lock(mutex_);
  return queue_.size();
}

void EncodeStage::run(const std::stop_token& stop) {
  while (EncodeQueue::WantedTile* tile = wait_for_tile(stop)) do_tile(*tile, stop);
}

/// Null when the stage is to stop.
EncodeQueue::WantedTile* EncodeStage::wait_for_tile(const std::stop_token& stop) {
  for (;;) {
    end_stopped();
    MutexLock lock(mutex_);
    if (stop.stop_requested()) return nullptr;
    if (EncodeQueue::WantedTile* tile = queue_.next(clock_.now())) return tile;
    if (!not_empty_.wait(mutex_, stop)) return nullptr;
  }
}

void EncodeStage::do_tile(EncodeQueue::WantedTile& tile, const std::stop_token& stop) {
  take_off(tile);
  auto encoded = encode(tile, stop);
  // What stopped the stage ends its requests in shutdown().
  if (!encoded && stop.stop_requested()) return;
  land(tile, std::move(encoded));
}

Result<std::shared_ptr<const Embedding>> EncodeStage::encode(const EncodeQueue::WantedTile& tile,
                                                             const std::stop_token& stop) {
  TSR_CHECK(encoder_ != nullptr);
  if (auto known = cache_.find_in_memory(tile.key)) return known;
  std::stop_token abandoned;
  {
    MutexLock lock(mutex_);
    abandoned = flight_->stop.get_token();
  }
  const EitherStop either(abandoned, stop);
  const TimePoint started = clock_.now();
  TSR_ASSIGN_OR_RETURN(Embedding embedding, encoder_->encode(*tile.prepared, either.token()));
  const Duration duration = clock_.now() - started;
  if (embedding.n_tokens != tile.n_tokens) {
    return make_error(ErrorCode::kInternal, "internal_error",
                      "an image has " + std::to_string(embedding.n_tokens) + " visual tokens; " +
                          std::to_string(tile.n_tokens) + " were planned");
  }
  if (observer_ != nullptr) observer_->on_encode(tile.n_patches, duration);
  return cache_.store(tile.key, tile.tenant, std::move(embedding), duration, tile.policy);
}

void EncodeStage::take_off(EncodeQueue::WantedTile& tile) {
  MutexLock lock(mutex_);
  running_ = &tile;
  flight_ = std::make_unique<Flight>();
  for (InFlight* waiter : tile.waiters) watch(*waiter);
}

void EncodeStage::watch(InFlight& waiter) {
  waiter.trace.enter(Stage::kEncode, clock_.now());
  flight_->n_waiting.fetch_add(1);
  watches_.emplace_back(waiter.stop, Leave{flight_.get()});
}

/// Hands the features of a tile to those who waited for it.
void EncodeStage::land(EncodeQueue::WantedTile& tile,
                       Result<std::shared_ptr<const Embedding>> encoded) {
  Requests done;
  {
    MutexLock lock(mutex_);
    const bool abandoned = !encoded && flight_->stop.stop_requested();
    running_ = nullptr;
    watches_.clear();
    flight_.reset();
    const TimePoint now = clock_.now();
    for (InFlight* waiter : tile.waiters) waiter->trace.enter(Stage::kEncodeWait, now);
    // Those who left are ended before the next one. Whoever came after them has it done again.
    if (abandoned) return;
    done = encoded ? queue_.finish(tile, *encoded) : queue_.fail(tile);
  }
  for (auto& request : done) {
    if (!encoded) {
      request->end(encoded.error(), clock_.now());
      continue;
    }
    request->trace.enter(Stage::kEncode, clock_.now());
    request->tiles.clear();
    next_(std::move(request));
  }
}

void EncodeStage::end_stopped() {
  const TimePoint now = clock_.now();
  Requests stopped;
  {
    MutexLock lock(mutex_);
    stopped = queue_.take_if([now](const InFlight& r) { return r.should_stop(now).has_value(); });
  }
  for (auto& request : stopped) {
    std::optional<Error> reason = request->should_stop(now);
    request->end(std::move(reason), now);
  }
}

}  // namespace tessera::encode
