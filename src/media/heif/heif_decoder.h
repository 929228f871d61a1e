// The decoder of the heif class: the primary image of a HEIC file, through libheif with libde265.
//
// Turned, mirrored and cropped by libheif as the file says (EXIF is ignored, as the format says);
// colour from ICC, or from the code points of nclx. Other images, thumbnails, sequences and depth
// maps are not looked at.
// @thread any
#pragma once

#include "media/codecs/decoder.h"

namespace tessera::media::heif {

Decoder heif_decoder();

Probe probe_heif(Bytes file, int n_frames_wanted, const wire::ImageLimits& limits) noexcept;

/// @param frames, out  as Decoder's; frames is {0}
MediaError decode_heif(Bytes file, const wire::ImageLimits& limits, ImageSize target,
                       std::span<const std::uint32_t> frames, std::span<std::uint8_t> out) noexcept;

/// What a decoder cannot do once it is locked down: the time zone, libheif's list of plugins, and
/// libde265's tables. Keeps malloc from an arena for each thread, whose making asks the system.
void warm_up_heif();

}  // namespace tessera::media::heif
