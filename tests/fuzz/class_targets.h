// Fuzz targets of the decoder classes that are not images: a file through probe and decode, as a
// worker takes it.
#pragma once

#include <vector>

#include "fuzz/targets.h"

namespace tessera::fuzz {

bool run_video(Bytes input);
std::vector<media::testing::ByteVector> video_seeds();

bool run_heic(Bytes input);
std::vector<media::testing::ByteVector> heic_seeds();

}  // namespace tessera::fuzz
