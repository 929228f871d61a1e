// Files that cost far more than they weigh, for decoders of every class, each with what has to come
// of it under the default limits. Made on the spot.
// @thread any; no shared state
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "media/decoder_class.h"
#include "media/testing/encode_images.h"

namespace tessera::hostile {

struct Bomb {
  std::string name;
  media::testing::ByteVector bytes;
  std::optional<int> n_frames;  // that the request wants
  std::string reason;           // of the refusal; "accepted"
};

/// Of stills, of pictures that move, and of AVIF.
std::vector<Bomb> image_bombs();

std::vector<Bomb> video_bombs();

std::vector<Bomb> heic_bombs();

/// Within every limit, and as costly as that can be: what a decoder has to do, or its deadline
/// ends.
std::vector<Bomb> costly_files();

}  // namespace tessera::hostile
