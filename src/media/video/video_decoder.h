// The decoder of the video class: MP4, QuickTime, Matroska and WebM with H.264, HEVC, VP8, VP9 or
// AV1. Sound is not looked at. A video is a picture that moves: what is wanted of it are frames at
// equal distances in the order of showing.
//
//   probe    headers → size limits → all packets (frames and duration by their timestamps) → the
//            first picture, whose size is the video's
//   decode   all packets again → the ranges that the wanted frames need → those, and no others
//
// A frame that is wanted is what a player has on its screen at that frame's time: where a packet
// gives no picture (it is damaged, or never shown), the one before it. Turned as the track says;
// pixels that are not square are taken as if they were.
// @thread any; no shared state; starts no thread
#pragma once

#include "media/codecs/decoder.h"

namespace tessera::media::video {

Decoder video_decoder();

Probe probe_video(Bytes file, int n_frames_wanted, const wire::ImageLimits& limits) noexcept;

/// @param frames, out  as Decoder's
MediaError decode_video(Bytes file, const wire::ImageLimits& limits, ImageSize target,
                        std::span<const std::uint32_t> frames,
                        std::span<std::uint8_t> out) noexcept;

/// What a decoder cannot do once it is locked down: the time zone, which libav asks for, and the
/// tables that its decoders make at their first use.
void warm_up_video();

}  // namespace tessera::media::video
