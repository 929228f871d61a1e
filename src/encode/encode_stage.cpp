#include "encode/encode_stage.h"

#include <pthread.h>

#include <utility>

#include "core/check.h"
#include "core/either_stop.h"

namespace tessera::encode {
namespace {

/// Patches of the tile that a visual segment stands for.
int patches_of(const Prompt& prompt, const VisualSegment& segment) {
  const ImagePlan& image = prompt.images[segment.image_index];
  return image.n_tiles > 0 ? image.n_patches / image.n_tiles : 0;
}

}  // namespace

EncodeStage::EncodeStage(std::unique_ptr<runtime::Encoder> encoder, std::size_t capacity,
                         const Clock& clock, EncodeObserver* observer, Next next)
    : encoder_(std::move(encoder)),
      clock_(clock),
      observer_(observer),
      next_(std::move(next)),
      queue_(capacity),
      thread_([this](const std::stop_token& stop) { run(stop); }) {
  pthread_setname_np(thread_.native_handle(), "encode");
}

bool EncodeStage::try_submit(std::unique_ptr<InFlight>&& request) {
  request->trace.enter(Stage::kEncodeWait, clock_.now());
  return queue_.try_push(std::move(request));
}

void EncodeStage::shutdown() {
  queue_.close();
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  while (auto request = queue_.try_pop()) (*request)->end(shutting_down_error(), clock_.now());
}

void EncodeStage::run(const std::stop_token& stop) {
  while (auto request = queue_.pop(stop)) encode_one(std::move(*request), stop);
}

void EncodeStage::encode_one(std::unique_ptr<InFlight> request, const std::stop_token& stop) {
  request->trace.enter(Stage::kEncode, clock_.now());
  if (const auto encoded = encode_tiles(*request, stop); !encoded) {
    request->end(stop.stop_requested() ? shutting_down_error() : encoded.error(), clock_.now());
    return;
  }
  request->tiles.clear();
  next_(std::move(request));
}

Result<void> EncodeStage::encode_tiles(InFlight& request, const std::stop_token& stop) {
  TSR_CHECK(encoder_ != nullptr);
  // One encode, two reasons to stop it: the request's and the stage's.
  const EitherStop either(request.stop, stop);

  std::size_t tile = 0;
  for (const Segment& segment : request.prompt.segments) {
    const auto* visual = std::get_if<VisualSegment>(&segment);
    if (visual == nullptr) continue;
    const TimePoint started = clock_.now();
    if (auto reason = request.should_stop(started)) return *std::move(reason);
    TSR_ASSIGN_OR_RETURN(Embedding embedding,
                         encoder_->encode(*request.tiles[tile++], either.token()));
    if (embedding.n_tokens != visual->n_tokens) {
      return make_error(ErrorCode::kInternal, "internal_error",
                        "an image has " + std::to_string(embedding.n_tokens) + " visual tokens; " +
                            std::to_string(visual->n_tokens) + " were planned");
    }
    request.embeddings.push_back(std::make_shared<const Embedding>(std::move(embedding)));
    if (observer_ != nullptr) {
      observer_->on_encode(patches_of(request.prompt, *visual), clock_.now() - started);
    }
  }
  return {};
}

}  // namespace tessera::encode
