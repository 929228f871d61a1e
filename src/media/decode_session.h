// The server's half of stage 3: one request's images through one single-use child of the media
// worker's zygote.
//
//   auto session = DecodeSession::open(options, limits, media, stop);  // early refusals, then a
//   child auto probed  = session->probe();                                   // sizes, for planning
//   auto images  = session->decode();                                  // pixels
//
// Nothing that the child says is believed unchecked (validate.h), and no byte of a file is parsed
// in this process beyond its signature (sniff.h). The child cannot outlive the session: the
// destructor has it killed and reaped, whatever it is doing, and waits for neither.
// @thread one thread at a time; the stop request comes from any thread
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/image.h"
#include "core/limits.h"
#include "core/request.h"
#include "core/result.h"
#include "media/decoder_death.h"
#include "media/validate.h"
#include "sandbox/stop_event.h"
#include "sandbox/zygote.h"

namespace tessera::media {

struct DecoderOptions {
  /// Of the media worker; borrowed, outlives every session. Null = no image can be decoded.
  sandbox::Zygote* zygote = nullptr;

  /// Wall clock of the child's start, of probing all images, and of decoding them together with
  /// what follows. A child starts in less than a millisecond; the rest is for a loaded machine.
  std::chrono::milliseconds base_timeout{2000};

  /// Added to decoding. The slowest format (progressive JPEG) takes about 50 ms of a core.
  std::chrono::milliseconds timeout_per_megapixel{100};
};

class DecodeSession {
 public:
  /// Refuses what needs no child (counts, bytes, signatures), seals the files against change and
  /// hands them to a child. The files are not needed by the session afterwards. When the zygote
  /// dies before the child runs, a second one is asked: no byte of the files was looked at.
  /// @param media  ≥ 1 memfds; nobody may hold a writable mapping of one
  /// @errors  too_large `too_many_images`, `image_bytes_too_large`; invalid_argument `image_empty`;
  ///          unsupported_media `image_format_unsupported`; unavailable
  ///          `media_worker_unavailable` (no child could be started); internal (a file that cannot
  ///          be sealed or is shorter than said)
  static Result<DecodeSession> open(const DecoderOptions& options, const Limits& limits,
                                    std::span<const EncodedMedia> media, std::stop_token stop);

  /// Sizes from headers alone. Call once.
  /// @errors  the first refused image's: invalid_argument `image_invalid`; too_large
  ///          `image_too_large`, `image_side_too_large`, `image_aspect_too_large`,
  ///          `image_scans_too_many`, `request_pixels_too_large`; unsupported_media
  ///          `image_format_unsupported`, `image_variant_unsupported`; unprocessable_media
  ///          `media_decoder_failed`
  ///          (died, was late, or broke the protocol); cancelled
  Result<std::vector<ProbedImage>> probe();

  /// Pixels at full size, in order, of each sampled frame. Call once; probes first when probe() was
  /// not called.
  /// @errors  as probe()
  Result<std::vector<Image>> decode();

  /// Pixels of the size that was planned for each file, resized by the child: one image for each of
  /// its frames. After probe(); once.
  /// @param targets  one a file, no side longer than the probed one; 0×0 = not wanted
  /// @errors         as probe()
  Result<std::vector<Image>> decode(std::span<const ImageSize> targets);

  /// How the child ended, when it did not end in order: after `media_decoder_failed`.
  std::optional<DecoderDeath> death() const { return death_; }
  /// The file that the child had then.
  std::size_t item_of_death() const { return item_; }

 private:
  DecodeSession(const DecoderOptions& options, const Limits& limits,
                std::span<const EncodedMedia> media, std::unique_ptr<sandbox::StopEvent> stop,
                sandbox::ZygoteChild child);

  Result<ProbedImage> probe_item(const sandbox::WaitLimits& wait);
  Result<std::vector<Image>> decode_item(ImageSize target, TimePoint deadline);
  Result<std::vector<Image>> read_pixels(const UniqueFd& output, const wire::DecodePlan& plan);
  Error transport_error(std::size_t index, sandbox::IoStatus status);
  Error child_failure(std::size_t index, std::string_view why, DecoderDeath death);
  Error refused_reply(Error error);

  DecoderOptions options_;
  wire::ImageLimits limits_;
  std::int64_t request_pixels_max_;
  std::vector<std::string> fields_;   // of the files, for errors; one each
  std::vector<int> n_frames_wanted_;  // of the files
  std::vector<ProbedImage> probed_;
  std::size_t item_ = 0;  // that the child works on
  std::unique_ptr<sandbox::StopEvent> stop_;
  sandbox::ZygoteChild child_;
  std::optional<DecoderDeath> death_;
};

}  // namespace tessera::media
