// The worker's questions about one file: what is it, how many frames has it, and what are its
// pixels. Here for the image class, which chooses the codec by the file's own first bytes and
// checks every limit before a raster exists.
//
// Never throws; any bytes are allowed.
// @thread any; no shared state
#pragma once

#include <cstdint>
#include <span>

#include "media/codecs/codec.h"

namespace tessera::media {

/// What a probe tells of one file.
struct Probe {
  ImageHeader header;
  int n_frames = 1;              // in the file when more than one is wanted, else 1
  int n_passed = 1;              // that decoding goes through for those that are wanted
  std::int64_t duration_ms = 0;  // of a video
};

/// The decoder of one class, as the protocol loop (serve.h) sees it.
struct Decoder {
  Probe (*probe)(Bytes file, int n_frames_wanted, const wire::ImageLimits& limits) noexcept;
  /// @param frames  ≥ 1, ascending, of those that the probe counted
  /// @param out     exactly frames.size() · target.pixels() · 3 bytes:
  ///                [frame][height][width][3] u8 sRGB
  MediaError (*decode_frames)(Bytes file, const wire::ImageLimits& limits, ImageSize target,
                              std::span<const std::uint32_t> frames,
                              std::span<std::uint8_t> out) noexcept;
};

/// Of images.
Decoder image_decoder();

/// @return error and, as far as known, format, stored size, orientation and scans
ImageHeader probe_image(Bytes file, const wire::ImageLimits& limits) noexcept;

struct FrameCount {
  MediaError error = MediaError::kNone;
  int n_frames = 1;
};

/// Frames of a file that probe_image() takes. 1 for a still picture, and for formats of which only
/// the first frame is ever shown.
/// @errors  kFramesTooMany
FrameCount count_frames(Bytes file, MediaFormat format, const wire::ImageLimits& limits) noexcept;

/// Probes again and decodes: sniff → limits → 8 bit → sRGB → alpha over white → resample →
/// orientation; the bytes are those of orientation → resample.
/// @param target  1 ≤ each side ≤ that side of the oriented size that the probe reported
/// @param frames  ≥ 1, ascending, of those that were counted; {0} = the first frame, or a still
/// @param out     exactly frames.size() · target.pixels() · 3 bytes:
///                [frame][height][width][3] u8 sRGB
MediaError decode_frames(Bytes file, const wire::ImageLimits& limits, ImageSize target,
                         std::span<const std::uint32_t> frames,
                         std::span<std::uint8_t> out) noexcept;

/// The first frame.
MediaError decode_image(Bytes file, const wire::ImageLimits& limits, ImageSize target,
                        std::span<std::uint8_t> out) noexcept;

}  // namespace tessera::media
