// Features of one request that reach the engine while its later tiles are still being encoded, so
// that the engine can prefill what is there already (the ready-prefix rule of RServe, Guo et al.,
// arXiv 2509.24381).
//
// Joins one writer, the encode stage, and one reader, the engine. Either may leave first: the
// writer by fail(), the reader by abandon() or because its request was cancelled.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/embedding.h"
#include "core/error.h"
#include "core/mutex.h"

namespace tessera {

/// @thread each method says whose it is
class ArrivingFeatures {
 public:
  /// Tells the reader to look. From any thread, also inside the request_stop() of who cancels; must
  /// not wait for anything.
  using Wake = std::function<void()>;

  /// @param cancelled  the request's
  ArrivingFeatures(const std::stop_token& cancelled, Wake wake)
      : wake_(std::move(wake)), on_cancelled_(cancelled, Cancel{this}) {}
  ArrivingFeatures(const ArrivingFeatures&) = delete;
  ArrivingFeatures& operator=(const ArrivingFeatures&) = delete;

  // --- the encode stage ---
  void land(std::size_t segment, std::shared_ptr<const Embedding> embedding);
  /// Nothing more will come.
  void fail(Error error);
  /// Whether one of its tiles is in the encoder now.
  void set_encoding(bool is_encoding);
  /// Stops when nobody reads any more.
  std::stop_token unwanted() const { return unwanted_.get_token(); }

  // --- the engine ---
  /// Puts what has landed where it belongs.
  /// @param embeddings  one per visual segment of the prompt
  /// @return            why nothing more will come, if that is so
  std::optional<Error> take(std::span<std::shared_ptr<const Embedding>> embeddings);
  bool is_encoding() const { return is_encoding_.load(std::memory_order_acquire); }
  void abandon() { unwanted_.request_stop(); }

 private:
  struct Landed {
    std::size_t segment = 0;
    std::shared_ptr<const Embedding> embedding;
  };
  struct Cancel {
    ArrivingFeatures* features;
    void operator()() const {
      features->abandon();
      features->wake_();
    }
  };

  const Wake wake_;
  std::stop_source unwanted_;
  std::atomic<bool> is_encoding_{false};
  Mutex mutex_;
  std::vector<Landed> landed_ TSR_GUARDED_BY(mutex_);  // not taken yet; ≤ segments of the prompt
  std::optional<Error> error_ TSR_GUARDED_BY(mutex_);
  std::stop_callback<Cancel> on_cancelled_;  // the last: it uses the others
};

}  // namespace tessera
