// Pixels of files as Pillow sees them, by way of reference.py.
// @thread one at a time: files lie in the test program's temporary folder
#pragma once

#include <string>
#include <vector>

#include "core/image.h"
#include "media/testing/encode_images.h"

namespace tessera::pixels {

struct Wanted {
  media::testing::ByteVector file;
  ImageSize target;  // 0×0 = its own size
  int frame = 0;
};

/// One run of the script for all of them.
/// @return [height][width][3] of each, in order; empty, with a test failure that says what is
///         missing, when the script fails
std::vector<media::testing::ByteVector> reference_pixels(const std::vector<Wanted>& wanted);

}  // namespace tessera::pixels
