// Stage 5: prepared tiles → visual tokens, on the one encode thread.
//
// Owns the encoder and its queue. A request's tiles are encoded one after the other; between tiles
// its stop token and deadline are looked at, inside a tile its stop token.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "core/bounded_queue.h"
#include "core/clock.h"
#include "core/in_flight.h"
#include "runtime/runtime.h"

namespace tessera::encode {

/// What the stage tells about its work; for metrics.
/// @thread encode thread
class EncodeObserver {
 public:
  virtual ~EncodeObserver() = default;
  virtual void on_encode(int n_patches, Duration duration) = 0;
};

/// @thread construction and shutdown by the owner; try_submit from any thread
class EncodeStage {
 public:
  /// Takes the request whose embeddings are complete, still in Stage::kEncode.
  using Next = std::function<void(std::unique_ptr<InFlight>)>;

  /// @param encoder   may be null: then no request with images may come
  /// @param capacity  of the queue; at least as many as may be admitted, so that it never refuses
  /// @param observer  may be null; outlives the stage
  EncodeStage(std::unique_ptr<runtime::Encoder> encoder, std::size_t capacity, const Clock& clock,
              EncodeObserver* observer, Next next);
  ~EncodeStage() { shutdown(); }

  /// Queues a request whose tiles are prepared. False (item untouched) when full or shut down.
  [[nodiscard]] bool try_submit(std::unique_ptr<InFlight>&& request);

  /// Ends the encode that runs and everything queued with `unavailable`; joins. Idempotent.
  void shutdown();

  std::size_t queue_depth() const { return queue_.size(); }

 private:
  void run(const std::stop_token& stop);
  void encode_one(std::unique_ptr<InFlight> request, const std::stop_token& stop);
  Result<void> encode_tiles(InFlight& request, const std::stop_token& stop);

  const std::unique_ptr<runtime::Encoder> encoder_;
  const Clock& clock_;
  EncodeObserver* const observer_;
  const Next next_;
  BoundedQueue<std::unique_ptr<InFlight>> queue_;
  std::jthread thread_;
};

}  // namespace tessera::encode
