// WebP through libwebp: lossy, lossless, alpha; the first frame of an animation on its canvas.
#pragma once

#include "media/codecs/codec.h"
#include "media/codecs/pixel_writer.h"

namespace tessera::media {

ImageHeader read_webp_header(Bytes file);

MediaError decode_webp(Bytes file, PixelWriter& writer);

}  // namespace tessera::media
