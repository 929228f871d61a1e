// The server's half of stage 3: one request's images through one single-use worker process.
//
//   auto session = DecodeSession::open(options, limits, media, stop);  // early refusals, then
//   spawn auto probed  = session->probe();                                   // sizes, for planning
//   auto images  = session->decode();                                  // pixels
//
// Nothing that the worker says is believed unchecked (validate.h), and no byte of a file is parsed
// in this process beyond its signature (sniff.h). The worker cannot outlive the session: the
// destructor kills and reaps it, whatever it is doing.
// @thread one media thread from open() to the end, because the worker dies with the thread that
//         started it; the stop request comes from any thread
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/image.h"
#include "core/limits.h"
#include "core/request.h"
#include "core/result.h"
#include "media/validate.h"
#include "sandbox/child_process.h"
#include "sandbox/stop_event.h"

namespace tessera::media {

struct DecoderOptions {
  std::string worker_path;  // absolute

  /// Wall clock of probing all images, and of decoding them together with what follows. The worker
  /// starts in 2 ms; the rest is for a loaded machine.
  std::chrono::milliseconds base_timeout{2000};

  /// Added to decoding. The slowest format (progressive JPEG) takes about 50 ms of a core.
  std::chrono::milliseconds timeout_per_megapixel{100};
};

class DecodeSession {
 public:
  /// Refuses what needs no worker (counts, bytes, signatures), seals the files against change and
  /// starts the worker. The files are not needed by the session afterwards.
  /// @param media  ≥ 1 memfds; nobody may hold a writable mapping of one
  /// @errors  too_large `too_many_images`, `image_bytes_too_large`; invalid_argument `image_empty`;
  ///          unsupported_media `image_format_unsupported`; unavailable
  ///          `media_worker_unavailable` (it could not be started); internal (a file that cannot
  ///          be sealed or is shorter than said)
  static Result<DecodeSession> open(const DecoderOptions& options, const Limits& limits,
                                    std::span<const EncodedMedia> media, std::stop_token stop);

  /// Sizes from headers alone. Call once.
  /// @errors  the first refused image's: invalid_argument `image_invalid`; too_large
  ///          `image_too_large`, `image_side_too_large`, `image_aspect_too_large`,
  ///          `image_scans_too_many`, `request_pixels_too_large`; unsupported_media
  ///          `image_format_unsupported`, `image_variant_unsupported`, `media_decoder_failed`
  ///          (died, was late, or broke the protocol); cancelled
  Result<std::vector<ProbedImage>> probe();

  /// Pixels at full size, in order. Call once; probes first when probe() was not called.
  /// @errors  as probe()
  Result<std::vector<Image>> decode();

  /// For tests and logs.
  pid_t worker_pid() const { return worker_.process.pid(); }

 private:
  DecodeSession(const DecoderOptions& options, const Limits& limits, std::size_t n_items,
                std::unique_ptr<sandbox::StopEvent> stop, sandbox::SpawnedChild worker);

  Result<Image> decode_item(std::size_t index, TimePoint deadline);
  Error transport_error(std::size_t index, sandbox::IoStatus status) const;

  DecoderOptions options_;
  wire::ImageLimits limits_;
  std::int64_t request_pixels_max_;
  std::size_t n_items_;
  std::vector<ProbedImage> probed_;
  std::unique_ptr<sandbox::StopEvent> stop_;
  sandbox::SpawnedChild worker_;
};

}  // namespace tessera::media
