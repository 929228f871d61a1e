// GIF through giflib: the first frame on its canvas. Later frames are not read.
#pragma once

#include "media/codecs/codec.h"
#include "media/codecs/pixel_writer.h"

namespace tessera::media {

/// The logical screen is the size; frames must lie inside it.
ImageHeader read_gif_header(Bytes file);

MediaError decode_gif(Bytes file, PixelWriter& writer);

}  // namespace tessera::media
