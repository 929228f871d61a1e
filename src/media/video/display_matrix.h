// How a video is to be turned: the matrix of its track. Pure.
// @thread any
#pragma once

#include <cstdint>
#include <span>

#include "media/codecs/orientation.h"

namespace tessera::media::video {

/// The nearest of the eight; no turn by other angles, no scaling.
/// @param matrix  a b u, c d v, x y w: a point (p, q) goes to (a·p + c·q + x, b·p + d·q + y), with
///                q downwards
/// @source        ISO/IEC 14496-12 §6.2.2
Orientation orientation_of(std::span<const std::int32_t, 9> matrix);

}  // namespace tessera::media::video
