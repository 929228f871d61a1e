// What of the outside world the media stage believes: pure functions that check sizes against
// limits, and a worker's replies against what was asked. Overflow-safe for any input.
//
// Errors name the file by its place in the request ("image 3: …"), the value and the limit.
// @thread any
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/image.h"
#include "core/limits.h"
#include "core/result.h"
#include "media/decoder_class.h"
#include "media/wire.h"

namespace tessera::media {

/// JPEG: ~1 s of a core at 0.75 ns a pixel and scan. 32 scans of 40 megapixels stay below it; it
/// binds when an operator allows larger images.
inline constexpr std::int64_t kJpegPixelScansMax = 1'300'000'000;

/// Every decoded image has red, green and blue.
inline constexpr std::int32_t kChannels = 3;

struct ProbedImage {
  MediaFormat format = MediaFormat::kPng;
  ImageSize size;    // after orientation
  int n_frames = 1;  // of the file; 1 when no more than one is wanted of a picture
  int n_shown = 1;   // of those
  int n_passed = 1;  // that decoding goes through for them
};

/// One file of a request, as errors name it.
struct MediaItem {
  std::size_t index = 0;  // in its request
  DecoderClass decoder_class = DecoderClass::kImage;
};

/// "image 3: ", "video 1: "; counts all files of the request.
std::string item_name(const MediaItem& item);

wire::ImageLimits image_limits(const Limits& limits,
                               DecoderClass decoder_class = DecoderClass::kImage);

/// The first limit that the size breaks, kInvalid for a side below 1, or kNone.
wire::MediaError check_size(ImageSize size, const wire::ImageLimits& limits);

/// kNone, or kScansTooMany.
wire::MediaError check_scans(ImageSize size, std::int32_t n_scans, const wire::ImageLimits& limits);

/// An item's refusal as the client sees it.
/// @param error  not kNone
/// @param found  the size, scans and frames that it is about, as far as known
Error refusal(wire::MediaError error, const MediaItem& item, const wire::ProbeReply& found,
              const wire::ImageLimits& limits);

/// The worker did what no sound worker does, died, or was late.
/// @param why  ours, e.g. "the decoder did not finish in time"
Error worker_failure(const MediaItem& item, std::string_view why);

/// @param item      whose reply is due
/// @param n_wanted  frames that were asked for
/// @errors       those of refusal(); unprocessable_media `media_decoder_failed` when the reply
///               contradicts itself, the limits or the protocol
Result<ProbedImage> validate_probe(const wire::ProbeReply& reply, const MediaItem& item,
                                   int n_wanted, const wire::ImageLimits& limits);

/// @param item  that the plan is for
/// @param plan  what was asked for
/// @errors      as validate_probe
Result<void> validate_decoded(const wire::DecodeReply& reply, const MediaItem& item,
                              const wire::DecodePlan& plan, const wire::ImageLimits& limits);

/// Bytes of an image that passed check_size.
std::size_t rgb_bytes(ImageSize size);

}  // namespace tessera::media
