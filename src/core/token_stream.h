// The per-request queue from the engine to whoever writes the answer. Bounded by the request's own
// output limit, so that the engine never waits for a slow client.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "core/mutex.h"
#include "core/token_event.h"

namespace tessera {

/// @thread push from the producer; all others from the one consumer
class TokenStream final : public EventSink {
 public:
  /// @param cancel  what cancel() requests: the stop token of the request is its
  explicit TokenStream(std::stop_source cancel) : cancel_(std::move(cancel)) {}

  void push(StreamEvent event) override;

  /// The next event, if one is there.
  std::optional<StreamEvent> try_pop();

  /// Waits for the next event. Empty when `stop` was requested.
  std::optional<StreamEvent> pop(const std::stop_token& stop);

  /// Called after each push, from the producer's thread; must be cheap and not throw. Set once,
  /// before the first pop; called at once when events are already there.
  void set_waker(std::function<void()> waker);
  /// Drops the waker. After it returns the old one is never called again.
  void clear_waker();

  /// Nobody wants the answer any more. The terminal event still comes.
  void cancel() { cancel_.request_stop(); }

 private:
  std::stop_source cancel_;
  Mutex mutex_;
  CondVar not_empty_;
  std::deque<StreamEvent> events_ TSR_GUARDED_BY(mutex_);
  std::function<void()> waker_ TSR_GUARDED_BY(mutex_);
};

/// The consumer's end of a TokenStream. Its destruction cancels the request, so that nothing is
/// computed for a reader that has gone.
class StreamReader {
 public:
  explicit StreamReader(std::shared_ptr<TokenStream> stream) : stream_(std::move(stream)) {}
  StreamReader(StreamReader&&) = default;
  StreamReader& operator=(StreamReader&&) = delete;
  ~StreamReader() {
    if (stream_ == nullptr) return;
    stream_->clear_waker();
    stream_->cancel();
  }

  TokenStream* operator->() const { return stream_.get(); }

 private:
  std::shared_ptr<TokenStream> stream_;
};

}  // namespace tessera
