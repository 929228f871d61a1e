// The worker's two questions about one file: what is it, and what are its pixels. Chooses the codec
// by the file's own first bytes and checks every limit before a raster exists.
//
// Never throws; any bytes are allowed.
// @thread any; no shared state
#pragma once

#include <cstdint>
#include <span>

#include "media/codecs/codec.h"

namespace tessera::media {

/// @return error and, as far as known, format, stored size, orientation and scans
ImageHeader probe_image(Bytes file, const wire::ImageLimits& limits) noexcept;

/// Probes again and decodes: sniff → limits → 8 bit → sRGB → alpha over white → resample →
/// orientation; the bytes are those of orientation → resample.
/// @param target  1 ≤ each side ≤ that side of the oriented size that the probe reported
/// @param out     exactly target.pixels() · 3 bytes: [height][width][3] u8 sRGB
MediaError decode_image(Bytes file, const wire::ImageLimits& limits, ImageSize target,
                        std::span<std::uint8_t> out) noexcept;

}  // namespace tessera::media
