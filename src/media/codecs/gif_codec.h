// GIF through giflib: the first frame on its canvas, or frames of an animation as a viewer shows
// them.
#pragma once

#include "media/codecs/codec.h"
#include "media/codecs/frame_writer.h"
#include "media/codecs/pixel_writer.h"

namespace tessera::media {

/// The logical screen is the size; frames must lie inside it.
ImageHeader read_gif_header(Bytes file, const wire::ImageLimits& limits);

/// Whole frames in a row, from the first; no pixel is decoded. Stops above limits.frames_max.
int count_gif_frames(Bytes file, const wire::ImageLimits& limits);

MediaError decode_gif(Bytes file, const wire::ImageLimits& limits, PixelWriter& writer);

MediaError decode_gif_frames(Bytes file, const wire::ImageLimits& limits, FrameWriter& writer);

}  // namespace tessera::media
