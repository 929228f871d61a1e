// AVIF stills, and the first frame of AVIF sequences, through libavif with dav1d. Turned by irot
// and imir (EXIF is ignored, as the format says); colour from ICC, or from the code points of nclx.
// @thread any; no shared state; starts no thread
#pragma once

#include "media/codecs/codec.h"
#include "media/codecs/pixel_writer.h"

namespace tessera::media {

ImageHeader read_avif_header(Bytes file, const wire::ImageLimits& limits);
MediaError decode_avif(Bytes file, const wire::ImageLimits& limits, PixelWriter& writer);

/// irot, then imir.
/// @param angle   quarter turns anticlockwise
/// @param mirror  0 exchanges top and bottom, 1 left and right, −1 nothing
/// @source        ISO/IEC 23008-12 §6.5.10, §6.5.12
Orientation avif_orientation(int angle, int mirror);

}  // namespace tessera::media
