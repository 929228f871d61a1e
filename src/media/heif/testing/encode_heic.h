// Makes HEIC files for tests with libheif's own encoder (x265). Aborts on failure. For tests only.
// @thread any
#pragma once

#include <vector>

#include "media/codecs/orientation.h"
#include "media/testing/encode_images.h"

namespace tessera::media::heif::testing {

using media::testing::ByteVector;
using media::testing::Raster;

struct HeicOptions {
  Orientation orientation = Orientation::kUpright;
  bool has_alpha = false;  // half transparent everywhere
  ByteVector icc = {};     // empty = none
  int color_primaries = 1;
};

/// @param picture  [height][width][3] u8
ByteVector encode_heic(const Raster& picture, const HeicOptions& options = {});

}  // namespace tessera::media::heif::testing
