// JPEG through libjpeg-turbo: baseline and progressive; grey, YCbCr, RGB, CMYK and YCCK.
#pragma once

#include "media/codecs/codec.h"
#include "media/codecs/pixel_writer.h"

namespace tessera::media {

/// @cost one pass over the file's bytes: scans are counted
ImageHeader read_jpeg_header(Bytes file, const wire::ImageLimits& limits);

MediaError decode_jpeg(Bytes file, const wire::ImageLimits& limits, PixelWriter& writer);

}  // namespace tessera::media
