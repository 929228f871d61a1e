#include "media/video/display_matrix.h"

#include <cstdlib>

namespace tessera::media::video {

Orientation orientation_of(std::span<const std::int32_t, 9> matrix) {
  const std::int64_t a = matrix[0];
  const std::int64_t b = matrix[1];
  const std::int64_t c = matrix[3];
  const std::int64_t d = matrix[4];
  const bool swaps_sides = std::abs(b) + std::abs(c) > std::abs(a) + std::abs(d);
  if (!swaps_sides) {
    if (a >= 0) return d >= 0 ? Orientation::kUpright : Orientation::kMirrorVertical;
    return d >= 0 ? Orientation::kMirrorHorizontal : Orientation::kRotate180;
  }
  if (b >= 0) return c >= 0 ? Orientation::kTranspose : Orientation::kRotate90;
  return c >= 0 ? Orientation::kRotate270 : Orientation::kTransverse;
}

}  // namespace tessera::media::video
