// EXIF structures and ICC profiles made on the spot. For tests only.
// @thread any; no shared state
#pragma once

#include "media/testing/encode_images.h"

namespace tessera::media::testing {

/// A TIFF structure with an orientation tag between two others.
ByteVector exif_with_orientation(int orientation, bool big_endian = false);

/// "Exif\0\0" before it, as JPEG wants it.
ByteVector with_exif_prefix(const ByteVector& tiff);

ByteVector icc_srgb();

/// sRGB with red and green exchanged: a pixel (r, g, b) means sRGB (g, r, b).
ByteVector icc_with_red_and_green_swapped();

/// Wider gamuts that cameras and phones embed.
ByteVector icc_display_p3();
ByteVector icc_adobe_rgb();

/// sRGB's primaries, with values proportional to light.
ByteVector icc_linear_rgb();

/// Grey whose values are proportional to light.
ByteVector icc_linear_gray();

/// CMYK in which only black counts: lightness = 1 − K, no colour.
ByteVector icc_black_only_cmyk();

}  // namespace tessera::media::testing
