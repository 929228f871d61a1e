// AVIF files made on the spot. For tests only.
// @thread any; no shared state
#pragma once

#include "media/testing/encode_images.h"

namespace tessera::media::testing {

struct AvifOptions {
  int depth = 8;            // 8, 10, 12; samples are the 8-bit ones, stretched
  bool subsampled = false;  // 4:2:0 instead of 4:4:4
  bool has_alpha = false;   // then rows are RGBA
  int quarter_turns = 0;    // irot, anticlockwise
  int mirror = -1;          // imir: 0 top with bottom, 1 left with right
  bool cropped = false;     // a clap of half the size
  int primaries = 1;        // H.273 code points
  int transfer = 13;
  int n_frames = 1;  // more make a sequence
  ByteVector exif;
  ByteVector icc;
};
/// Nearly lossless.
ByteVector encode_avif(const Raster& raster, const AvifOptions& options = {});

}  // namespace tessera::media::testing
