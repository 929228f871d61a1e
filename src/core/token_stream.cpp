#include "core/token_stream.h"

#include <utility>

namespace tessera {

void TokenStream::push(StreamEvent event) {
  {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
    if (waker_) waker_();
  }
  not_empty_.notify_one();
}

std::optional<StreamEvent> TokenStream::try_pop() {
  MutexLock lock(mutex_);
  if (events_.empty()) return std::nullopt;
  std::optional<StreamEvent> event(std::move(events_.front()));
  events_.pop_front();
  return event;
}

std::optional<StreamEvent> TokenStream::pop(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  while (events_.empty()) {
    if (!not_empty_.wait(mutex_, stop)) return std::nullopt;
  }
  std::optional<StreamEvent> event(std::move(events_.front()));
  events_.pop_front();
  return event;
}

void TokenStream::set_waker(std::function<void()> waker) {
  MutexLock lock(mutex_);
  waker_ = std::move(waker);
  if (waker_ && !events_.empty()) waker_();
}

void TokenStream::clear_waker() {
  MutexLock lock(mutex_);
  waker_ = nullptr;
}

}  // namespace tessera
