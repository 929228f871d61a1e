// What of a request's files the server refuses by itself: before any decoder runs by counts, bytes,
// signatures and kinds that the operator did not allow; then by the pixels of all files together.
// Reads the first bytes of each file and no more.
// @thread any
#pragma once

#include <span>
#include <vector>

#include "core/limits.h"
#include "core/request.h"
#include "core/result.h"
#include "media/decoder_options.h"
#include "media/validate.h"

namespace tessera::media {

/// Seals the files against change, too.
/// @return  the class of each file
/// @errors  too_large `too_many_images`, `too_many_videos`, `image_bytes_too_large`,
///          `video_bytes_too_large`; invalid_argument `image_empty`; unsupported_media
///          `image_format_unsupported`, `video_disabled`, `heic_disabled`; internal
///          `media_file_unusable`
Result<std::vector<DecoderClass>> check_media(const DecoderZygotes& zygotes, const Limits& limits,
                                              std::span<const EncodedMedia> media);

/// Of all files that were probed so far; an error is about the last of them.
/// @errors  too_large `request_pixels_too_large`, `video_pixels_too_many`
Result<void> check_request_pixels(std::span<const ProbedImage> probed, const Limits& limits);

/// Frames to take of a file: what the request wants, or the default of its kind.
int frames_wanted(const EncodedMedia& media, DecoderClass decoder_class, const Limits& limits);

/// A refusal of one file names the field that it came in.
Error in_field(Error error, const std::string& field);

}  // namespace tessera::media
