// A request in the media stage, with what has been found out about it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/digest.h"
#include "core/in_flight.h"
#include "media/decoder_class.h"

namespace tessera::media {

/// What is found out about a request before its pixels are wanted.
struct MediaPlan {
  std::vector<DecoderClass> classes;  // one a file
  std::vector<Digest> contents;       // one a file
  bool is_made = false;               // what follows is filled
  std::vector<std::size_t> n_frames;  // images that the model is shown of each file
  std::vector<ImageSize> targets;     // one a file; 0×0 = its pixels are not needed
  std::vector<bool> needed;           // one an image

  bool needs_pixels() const { return std::ranges::find(needed, true) != needed.end(); }
};

/// Bytes of a request: prepared tiles until they are encoded, features until they are prefilled.
struct VisionBytes {
  std::size_t tiles = 0;
  std::size_t features = 0;

  std::size_t all() const { return tiles + features; }
};

struct MediaRequest {
  std::unique_ptr<InFlight> request;
  MediaPlan plan;
  VisionBytes bytes;  // once the plan is made
};

}  // namespace tessera::media
