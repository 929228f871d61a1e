#include "core/arriving_features.h"

namespace tessera {

void ArrivingFeatures::land(std::size_t segment, std::shared_ptr<const Embedding> embedding) {
  {
    MutexLock lock(mutex_);
    landed_.push_back({segment, std::move(embedding)});
  }
  wake_();
}

void ArrivingFeatures::fail(Error error) {
  {
    MutexLock lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  wake_();
}

void ArrivingFeatures::set_encoding(bool is_encoding) {
  if (is_encoding_.exchange(is_encoding, std::memory_order_acq_rel) != is_encoding) wake_();
}

std::optional<Error> ArrivingFeatures::take(
    std::span<std::shared_ptr<const Embedding>> embeddings) {
  MutexLock lock(mutex_);
  for (Landed& landed : landed_) embeddings[landed.segment] = std::move(landed.embedding);
  landed_.clear();
  return error_;
}

}  // namespace tessera
