// The eight ways a camera may have been held: EXIF tag 0x0112, and where each stored pixel goes.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/image.h"

namespace tessera::media {

/// Values are EXIF's. Names say what brings the stored rows upright.
enum class Orientation : std::uint8_t {
  kUpright = 1,
  kMirrorHorizontal = 2,
  kRotate180 = 3,
  kMirrorVertical = 4,
  kTranspose = 5,
  kRotate90 = 6,  // clockwise
  kTransverse = 7,
  kRotate270 = 8,  // clockwise
};

/// Orientations 5–8 swap the sides.
ImageSize oriented(ImageSize stored, Orientation orientation);

/// Where a stored row goes: pixel x of it lands at first + x · step, counted in pixels of the
/// oriented image.
struct RowPath {
  std::ptrdiff_t first = 0;
  std::ptrdiff_t step = 1;
};
RowPath row_path(ImageSize stored, Orientation orientation, int y);

/// Reads tag 0x0112 of IFD0 and nothing else; follows no other pointer. Anything unexpected is
/// kUpright.
/// @param exif  a TIFF structure, with or without the "Exif\0\0" that JPEG puts before it
/// @source      EXIF 2.32 §4.6.2
Orientation parse_exif_orientation(std::span<const std::uint8_t> exif);

}  // namespace tessera::media
