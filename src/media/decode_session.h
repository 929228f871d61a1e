// The server's half of stage 3: one request's files through one single-use child of each decoder
// class that it needs.
//
//   auto session = DecodeSession::open(options, limits, media, stop);  // early refusals, children
//   auto probed  = session->probe();                                   // sizes, for planning
//   auto images  = session->decode();                                  // pixels
//
// The children work one after the other, in the order of the request's files: a request never takes
// more than one core for decoding.
//
// Nothing that the child says is believed unchecked (validate.h), and no byte of a file is parsed
// in this process beyond its signature (sniff.h). No child outlives the session: the destructor has
// them killed and reaped, whatever they are doing, and waits for neither.
// @thread one thread at a time; the stop request comes from any thread
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/image.h"
#include "core/limits.h"
#include "core/request.h"
#include "core/result.h"
#include "media/decoder_death.h"
#include "media/decoder_options.h"
#include "media/validate.h"
#include "sandbox/stop_event.h"
#include "sandbox/zygote.h"

namespace tessera::media {

class DecodeSession {
 public:
  /// Refuses what needs no child (counts, bytes, signatures), seals the files against change and
  /// hands them to their children. The files are not needed by the session afterwards. When a
  /// zygote dies before its child runs, a second one is asked: no byte of the files was looked at.
  /// @param media  ≥ 1 memfds; nobody may hold a writable mapping of one
  /// @errors  those of check_media(); unavailable `media_worker_unavailable` (no child could be
  ///          started)
  static Result<DecodeSession> open(const DecoderOptions& options, const Limits& limits,
                                    std::span<const EncodedMedia> media, std::stop_token stop);

  /// Sizes from headers alone. Call once.
  /// @errors  the first refused file's, as refusal() and check_request_pixels() give them;
  ///          unprocessable_media `media_decoder_failed` (died, was late, or broke the protocol);
  ///          cancelled
  Result<std::vector<ProbedImage>> probe();

  /// What the decoders said of each file, checked; after probe().
  std::span<const wire::ProbeReply> replies() const { return replies_; }

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
  /// decode() found that a file cannot be decoded, by anyone, under any limits.
  bool is_damaged() const { return is_damaged_; }
  /// The file that the child had at its death, or that is damaged; after one of the two.
  const MediaItem& failed_item() const { return items_[item_]; }

 private:
  struct Item : MediaItem {
    std::string field;  // of the request, for errors
    int n_frames_wanted = 1;
  };

  DecodeSession(const DecoderOptions& options, const Limits& limits,
                std::unique_ptr<sandbox::StopEvent> stop);

  Result<void> start(DecoderClass decoder_class, std::span<const EncodedMedia> media,
                     const sandbox::WaitLimits& wait);
  sandbox::WaitLimits within(std::chrono::milliseconds time) const;
  Result<ProbedImage> probe_item(const sandbox::WaitLimits& wait);
  Result<std::vector<Image>> decode_item(ImageSize target, const sandbox::WaitLimits& wait);
  Result<std::vector<Image>> read_pixels(const UniqueFd& output, const wire::DecodePlan& plan);
  Error transport_error(sandbox::IoStatus status);
  Error child_failure(std::string_view why, DecoderDeath death);
  Error refused_reply(Error error, wire::MediaError found);

  /// That has the current item.
  sandbox::ZygoteChild& child() {
    return *children_[static_cast<std::size_t>(items_[item_].decoder_class)];
  }

  DecoderOptions options_;
  Limits limits_;
  std::vector<Item> items_;
  std::vector<ProbedImage> probed_;
  std::vector<wire::ProbeReply> replies_;
  std::size_t item_ = 0;  // that is worked on
  std::unique_ptr<sandbox::StopEvent> stop_;
  // One of each class that the items need.
  std::array<std::optional<sandbox::ZygoteChild>, kDecoderClasses.size()> children_;
  std::optional<DecoderDeath> death_;
  bool is_damaged_ = false;
};

}  // namespace tessera::media
