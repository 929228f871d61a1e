#include "encode/encode_stage.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace tessera::encode {

EncodeStage::EncodeStage(std::unique_ptr<runtime::Encoder> encoder, cache::FeatureStore& cache,
                         const EncodeOptions& options, const Clock& clock, EncodeObserver* observer,
                         EncodeHooks hooks)
    : encoder_(std::move(encoder)),
      cache_(cache),
      options_(options),
      clock_(clock),
      observer_(observer),
      hooks_(std::move(hooks)),
      queue_(hooks_.wake),
      thread_([this](const std::stop_token& stop) { run(stop); }) {
  pthread_setname_np(thread_.native_handle(), "encode");
}

bool EncodeStage::try_submit(std::unique_ptr<InFlight>&& request) {
  EncodeQueue::Added added;
  {
    MutexLock lock(mutex_);
    if (closed_ || queue_.size() >= options_.capacity) return false;
    const TimePoint now = clock_.now();
    if (queue_.size() == 0) progress_ = now;
    request->trace.enter(Stage::kEncodeWait, now);
    added = queue_.add(std::move(request), now);
    for (const EncodeQueue::WantedTile* tile : running_) {
      const bool joins = std::ranges::find(tile->waiters, added.waiter) != tile->waiters.end();
      if (joins) watch(*added.waiter);
    }
  }
  not_empty_.notify_one();
  if (added.n_shared > 0 && observer_ != nullptr) observer_->on_shared(added.n_shared);
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
    rest = queue_.clear(shutting_down_error());
  }
  for (auto& request : rest) request->end(shutting_down_error(), clock_.now());
}

std::size_t EncodeStage::queue_depth() const {
  MutexLock lock(mutex_);
  return queue_.size();
}

Duration EncodeStage::no_progress() const {
  MutexLock lock(mutex_);
  return queue_.size() == 0 ? Duration{} : clock_.now() - progress_;
}

void EncodeStage::run(const std::stop_token& stop) {
  for (Step step = wait_for_step(stop); !step.empty(); step = wait_for_step(stop)) {
    do_step(step, stop);
  }
}

/// Empty when the stage is to stop.
EncodeStage::Step EncodeStage::wait_for_step(const std::stop_token& stop) {
  const bool batches = encoder_ != nullptr && encoder_->takes_batches();
  for (;;) {
    end_stopped();
    MutexLock lock(mutex_);
    if (stop.stop_requested()) return {};
    Step step = queue_.next(clock_.now(), batches ? options_.n_patches_max : 0);
    if (!step.empty()) return step;
    if (!not_empty_.wait(mutex_, stop)) return {};
  }
}

void EncodeStage::do_step(const Step& step, const std::stop_token& stop) {
  take_off(step);
  const Features features = features_of(step, stop);
  // What stopped the stage ends its requests in shutdown().
  if (stop.stop_requested()) return;
  land(step, features);
}

EncodeStage::Features EncodeStage::features_of(const Step& step, const std::stop_token& stop) {
  Features features;
  Step unknown;
  for (EncodeQueue::WantedTile* tile : step) {
    features.emplace_back(cache_.find_in_memory(tile->key));
    if (*features.back() == nullptr) unknown.push_back(tile);
  }
  if (unknown.empty()) return features;

  const TimePoint started = clock_.now();
  std::vector<Result<Embedding>> encoded = encode(unknown, stop);
  const Duration cost = (clock_.now() - started) / static_cast<int>(unknown.size());
  auto embedding = encoded.begin();
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (*features[i] != nullptr) continue;
    if (*embedding) {
      if (observer_ != nullptr) observer_->on_encode(step[i]->n_patches, cost);
      if (!encoder_->takes_batches()) times_.record(step[i]->n_patches, cost);
      features[i] = keep(*step[i], std::move(**embedding), cost);
    } else {
      features[i] = embedding->error();
    }
    ++embedding;
  }
  return features;
}

std::vector<Result<Embedding>> EncodeStage::encode(const Step& tiles, const std::stop_token& stop) {
  TSR_CHECK(encoder_ != nullptr);
  std::stop_token abandoned;
  {
    MutexLock lock(mutex_);
    abandoned = flight_->stop.get_token();
  }
  const runtime::ShouldStop should_stop = [&] {
    return abandoned.stop_requested() || stop.stop_requested();
  };
  std::vector<const PreparedTile*> prepared;
  for (const EncodeQueue::WantedTile* tile : tiles) prepared.push_back(tile->prepared.get());
  std::vector<Result<Embedding>> encoded;
  if (prepared.size() > 1) {
    auto together = encoder_->encode_batch(prepared, should_stop);
    if (together) {
      for (Embedding& embedding : *together) encoded.emplace_back(std::move(embedding));
      return encoded;
    }
    // The fault may be with one of them, which then fails alone.
  }
  for (const PreparedTile* tile : prepared) {
    encoded.push_back(encoder_->encode(*tile, should_stop));
  }
  return encoded;
}

Result<std::shared_ptr<const Embedding>> EncodeStage::keep(const EncodeQueue::WantedTile& tile,
                                                           Embedding embedding, Duration cost) {
  if (embedding.n_tokens != tile.shape.n_tokens) {
    return make_error(ErrorCode::kInternal, "internal_error",
                      "an image has " + std::to_string(embedding.n_tokens) + " visual tokens; " +
                          std::to_string(tile.shape.n_tokens) + " were planned");
  }
  return cache_.store(tile.key, tile.tenant, std::move(embedding), cost, tile.policy);
}

void EncodeStage::take_off(const Step& step) {
  MutexLock lock(mutex_);
  running_ = step;
  flight_ = std::make_unique<Flight>();
  for (const EncodeQueue::WantedTile* tile : step) {
    for (EncodeQueue::Waiter* waiter : tile->waiters) watch(*waiter);
  }
}

void EncodeStage::watch(EncodeQueue::Waiter& waiter) {
  if (waiter.request != nullptr) {
    waiter.request->trace.enter(Stage::kEncode, clock_.now());
  } else {
    waiter.arriving->set_encoding(true);
  }
  flight_->n_waiting.fetch_add(1);
  watches_.emplace_back(waiter.unwanted(), Leave{flight_.get()});
}

/// Hands the features of a step's tiles to those who waited for them.
void EncodeStage::land(const Step& step, const Features& features) {
  std::vector<std::pair<std::unique_ptr<InFlight>, std::optional<Error>>> leaving;
  {
    MutexLock lock(mutex_);
    const bool abandoned = flight_->stop.stop_requested();
    running_.clear();
    watches_.clear();
    flight_.reset();
    const TimePoint now = clock_.now();
    progress_ = now;
    std::vector<Digest> keys;  // a tile ends with its last waiter, which may be another tile's
    for (const EncodeQueue::WantedTile* tile : step) {
      keys.push_back(tile->key);
      for (EncodeQueue::Waiter* waiter : tile->waiters) {
        if (waiter->request != nullptr) {
          waiter->request->trace.enter(Stage::kEncodeWait, now);
        } else {
          waiter->arriving->set_encoding(false);
        }
      }
    }
    for (std::size_t i = 0; i < step.size(); ++i) {
      // Those who left are ended before the next step. Whoever came after them has it done again.
      if (!features[i] && abandoned) continue;
      std::optional<Error> error;
      if (!features[i]) error = features[i].error();
      Requests requests =
          error ? queue_.fail(keys[i], *error) : queue_.finish(keys[i], *features[i]);
      for (auto& request : requests) leaving.emplace_back(std::move(request), error);
    }
  }
  for (auto& [request, error] : leaving) {
    if (error) {
      request->end(std::move(error), clock_.now());
      continue;
    }
    request->trace.enter(Stage::kEncode, clock_.now());
    hooks_.next(std::move(request));
  }
}

void EncodeStage::end_stopped() {
  const TimePoint now = clock_.now();
  std::vector<EncodeQueue::Stopped> stopped;
  {
    MutexLock lock(mutex_);
    stopped = queue_.take_stopped(now, times_);
  }
  for (auto& [request, reason] : stopped) request->end(std::move(reason), now);
}

}  // namespace tessera::encode
