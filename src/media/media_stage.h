// Stage 3 as threads: requests with media → planned prompts, and prepared tiles of those images
// whose features nobody knows.
//
// Each media thread serves one request at a time, of one tenant after the other. Files that were
// seen before are planned from their records, without a decoder (media_records.h); when all their
// features are known too, no byte of them is decoded. Otherwise one DecodeSession, whose child is
// killed with it. Before anything is decoded a request takes the memory for its tiles and features
// (vision_room.h); one that must wait for it gives its thread back. What the stage needs from those
// around it (planning from sizes, features, preparing from pixels) comes as functions, so that it
// knows neither prompts nor models nor caches. Files that a decoder could not do anything with are
// remembered (quarantine.h).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/fair_queue.h"
#include "core/in_flight.h"
#include "media/decode_session.h"
#include "media/media_records.h"
#include "media/media_request.h"
#include "media/quarantine.h"
#include "media/vision_room.h"

namespace tessera::media {

/// @thread all are called on a media thread
struct MediaHooks {
  /// Fills InFlight::prompt from the images' sizes (a sampled frame is an image); gives the size at
  /// which each is wanted, no side longer than the image's own and the same for equal sizes.
  std::function<Result<std::vector<ImageSize>>(InFlight&, std::span<const ImageSize>)> plan;
  /// After plan: takes what is known of the images' features, and says of each image whether its
  /// pixels are needed. Empty = those of all.
  std::function<std::vector<bool>(InFlight&)> find_features;
  /// After find_features: the memory that the request's tiles and features will take. Empty = none.
  std::function<VisionBytes(const InFlight&)> bytes_of;
  /// Puts the tiles of one image, by its place in the prompt, into InFlight::tiles.
  std::function<Result<void>(InFlight&, std::size_t, const Image&)> prepare;
  /// Takes the request on.
  std::function<void(std::unique_ptr<InFlight>)> next;
  /// One image was decoded, or its session failed; may be empty.
  std::function<void(const std::optional<Error>&)> on_decoded;
  /// A decoder did not end in order; may be empty.
  std::function<void(DecoderClass, DecoderDeath)> on_death;
};

struct MediaStageOptions {
  DecoderOptions decoder;
  Limits limits;  // of the memory that all requests share
  int n_threads = 2;
  std::size_t queue_capacity = 0;  // at least as many as may be admitted
};

/// @thread construction and shutdown by the owner; try_submit from any thread
class MediaStage {
 public:
  MediaStage(MediaStageOptions options, const Clock& clock, MediaHooks hooks);
  ~MediaStage() { shutdown(); }

  /// Queues a request, mostly one with media. False (item untouched) when full or shut down.
  [[nodiscard]] bool try_submit(std::unique_ptr<InFlight>&& request);

  /// Kills the decoders that run, ends what is queued with `unavailable`, joins. Idempotent.
  void shutdown();

  /// With those that wait for memory.
  std::size_t queue_depth() const { return queue_.size() + room_.n_waiting(); }

  /// Held for prepared tiles and features, here and in the later stages.
  std::size_t vision_bytes() const { return room_.n_bytes_held(); }

  /// Tenants whose media is refused for a while.
  int n_suspended() const { return quarantine_.n_suspended(); }

 private:
  /// How serving a request ended that did not fail.
  enum class Served { kReady, kWaits };

  void run(const std::stop_token& stop);
  void go_on(MediaRequest taken);
  Result<void> look_at_files(MediaRequest& taken);
  Result<void> plan_from_records(MediaRequest& taken);
  Result<void> make_plan(MediaRequest& taken, std::span<const ProbedImage> probed);
  Result<Served> serve(MediaRequest& taken, const std::stop_token& stop);
  Result<Served> probe_and_decode(MediaRequest& taken, DecodeSession& session);
  Result<Served> take_room(MediaRequest& taken);
  Result<void> decode(InFlight& request, DecodeSession& session, const MediaPlan& plan);
  void remember(const InFlight& request, const DecodeSession& session, const MediaPlan& plan);
  void record_failure(const InFlight& request, const DecodeSession& session, const MediaPlan& plan,
                      const Error& error);

  const MediaStageOptions options_;
  const Clock& clock_;
  const MediaHooks hooks_;
  Quarantine quarantine_;
  MediaRecords records_;
  VisionRoom room_;
  FairQueue<MediaRequest> queue_;
  std::vector<std::jthread> threads_;
};

}  // namespace tessera::media
