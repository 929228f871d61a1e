// PNG through libpng: every colour type, bit depth and interlacing, as 8-bit grey or RGB with or
// without alpha. Animations give their default image.
#pragma once

#include "media/codecs/codec.h"
#include "media/codecs/pixel_writer.h"

namespace tessera::media {

/// Reads IHDR and looks for eXIf; checks no CRC (decode_png does).
ImageHeader read_png_header(Bytes file, const wire::ImageLimits& limits);

MediaError decode_png(Bytes file, const wire::ImageLimits& limits, PixelWriter& writer);

}  // namespace tessera::media
