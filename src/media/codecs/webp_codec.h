// WebP through libwebp: lossy, lossless, alpha; the first frame of an animation on its canvas, or
// frames of it as a viewer shows them.
#pragma once

#include "media/codecs/codec.h"
#include "media/codecs/frame_writer.h"
#include "media/codecs/pixel_writer.h"

namespace tessera::media {

ImageHeader read_webp_header(Bytes file, const wire::ImageLimits& limits);

/// No pixel is decoded.
int count_webp_frames(Bytes file, const wire::ImageLimits& limits);

MediaError decode_webp(Bytes file, const wire::ImageLimits& limits, PixelWriter& writer);

MediaError decode_webp_frames(Bytes file, const wire::ImageLimits& limits, FrameWriter& writer);

}  // namespace tessera::media
