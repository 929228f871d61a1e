#include "media/media_stage.h"

#include <pthread.h>

#include <utility>

#include "core/either_stop.h"
#include "media/frames.h"

namespace tessera::media {
namespace {

/// What the model is shown of the files: how many images each gives, and their sizes.
struct Shown {
  std::vector<std::size_t> n_frames;  // one a file
  std::vector<ImageSize> sizes;       // one an image
};

Shown shown(std::span<const ProbedImage> probed, std::span<const EncodedMedia> media) {
  Shown result;
  for (std::size_t i = 0; i < probed.size(); ++i) {
    result.n_frames.push_back(sample_frames(probed[i].n_frames, media[i].n_frames).size());
    result.sizes.insert(result.sizes.end(), result.n_frames.back(), probed[i].size);
  }
  return result;
}

}  // namespace

Result<std::vector<ImageSize>> probe_sizes(const DecoderOptions& options, const Limits& limits,
                                           Request& request, std::stop_token stop) {
  if (request.media.empty()) return std::vector<ImageSize>();
  TSR_ASSIGN_OR_RETURN(DecodeSession session,
                       DecodeSession::open(options, limits, request.media, std::move(stop)));
  TSR_ASSIGN_OR_RETURN(const std::vector<ProbedImage> probed, session.probe());
  Shown images = shown(probed, request.media);
  show_frames(request.messages, images.n_frames);
  return std::move(images.sizes);
}

MediaStage::MediaStage(MediaStageOptions options, const Clock& clock, MediaHooks hooks)
    : options_(std::move(options)),
      clock_(clock),
      hooks_(std::move(hooks)),
      quarantine_(clock),
      queue_(options_.queue_capacity) {
  for (int i = 0; i < options_.n_threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
    pthread_setname_np(threads_.back().native_handle(), "media");
  }
}

bool MediaStage::try_submit(std::unique_ptr<InFlight>&& request) {
  request->trace.enter(Stage::kMediaWait, clock_.now());
  return queue_.try_push(std::move(request));
}

void MediaStage::shutdown() {
  queue_.close();
  for (std::jthread& thread : threads_) thread.request_stop();
  for (std::jthread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  while (auto request = queue_.try_pop()) (*request)->end(shutting_down_error(), clock_.now());
}

void MediaStage::run(const std::stop_token& stop) {
  while (auto popped = queue_.pop(stop)) {
    std::unique_ptr<InFlight> request = *std::move(popped);
    if (const auto served = serve(*request, stop); !served) {
      request->end(stop.stop_requested() ? shutting_down_error() : served.error(), clock_.now());
      continue;
    }
    request->request.media.clear();
    request->media_holds.reset();
    hooks_.next(std::move(request));
  }
}

Result<void> MediaStage::serve(InFlight& request, const std::stop_token& stop) {
  if (auto reason = request.should_stop(clock_.now())) return *std::move(reason);
  // One session, two reasons to kill it: the request's and the stage's.
  const EitherStop either(request.stop, stop);

  request.trace.enter(Stage::kMediaDecode, clock_.now());
  TSR_RETURN_IF_ERROR(quarantine_.check(request.tenant, request.request.media));
  TSR_ASSIGN_OR_RETURN(
      DecodeSession session,
      DecodeSession::open(options_.decoder, request.limits, request.request.media, either.token()));
  auto decoded = decode(request, session);
  if (const auto death = session.death()) record_death(request, session, *death);
  return decoded;
}

void MediaStage::record_death(const InFlight& request, const DecodeSession& session,
                              DecoderDeath death) {
  if (hooks_.on_death) hooks_.on_death(death);
  // Whose zygote ended did nothing wrong.
  if (death == DecoderDeath::kLost) return;
  quarantine_.record_death(request.tenant, request.request.media[session.item_of_death()]);
}

Result<void> MediaStage::decode(InFlight& request, DecodeSession& session) {
  TSR_ASSIGN_OR_RETURN(const std::vector<ProbedImage> probed, session.probe());

  request.trace.enter(Stage::kPlan, clock_.now());
  const Shown images_shown = shown(probed, request.request.media);
  show_frames(request.request.messages, images_shown.n_frames);
  TSR_ASSIGN_OR_RETURN(const std::vector<ImageSize> planned,
                       hooks_.plan(request, images_shown.sizes));
  std::vector<ImageSize> targets;  // one a file: its frames are of one size
  std::size_t first = 0;
  for (const std::size_t n : images_shown.n_frames) {
    targets.push_back(planned[first]);
    first += n;
  }
  if (auto reason = request.should_stop(clock_.now())) return *std::move(reason);

  request.trace.enter(Stage::kMediaDecode, clock_.now());
  auto images = session.decode(targets);
  if (hooks_.on_decoded) {
    hooks_.on_decoded(images ? std::nullopt : std::optional<Error>(images.error()));
  }
  if (!images) return std::move(images).error();

  request.trace.enter(Stage::kResize, clock_.now());
  for (Image& image : *images) {
    TSR_RETURN_IF_ERROR(hooks_.prepare(request, image));
    image = Image{};  // its pixels are in the tiles now
  }
  return {};
}

}  // namespace tessera::media
