// How many pictures a Matroska file holds, without reading them: its elements are walked from
// header to header. libav copies each packet, which makes a file of too many expensive to refuse.
//
// What the walk takes for true is only ever used to refuse; a damaged file ends it early. Any
// bytes are allowed.
// @thread any; pure
#pragma once

#include "media/codecs/codec.h"

namespace tessera::media::video {

/// Blocks of the first video track, at most n_max: the walk ends there. Laced frames count as one.
/// @cost  ~20 ns an element
int count_video_blocks(Bytes file, int n_max);

}  // namespace tessera::media::video
