// Makes video files for tests with libav's own encoders, so that no binary is kept in the tree.
// Aborts on failure. For tests only.
// @thread any
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/image.h"
#include "media/testing/encode_images.h"

namespace tessera::media::video::testing {

using media::testing::ByteVector;
using Rgb = std::array<std::uint8_t, 3>;

struct ClipOptions {
  const char* encoder = "libx264";
  const char* container = "mp4";  // mov, matroska, webm, …
  ImageSize size{64, 48};
  int n_frames = 24;
  int frames_per_second = 25;
  int group = 8;  // pictures from key to key
  int n_b_frames = 2;
  double rotation = 0;                           // degrees clockwise, in the track's matrix
  const char* muxer_options = "";                // key=value:key=value
  const char* pixel_format = "yuv420p";          // libav's name
  std::vector<std::int64_t> timestamps_ms = {};  // one a frame; empty = even
  /// Pictures have another size from this one on (no B-frames then); 0 = never.
  int resized_from = 0;
  ImageSize resized{};
  /// The last packet comes as often again: pictures that cost a file next to nothing.
  int n_repeats = 0;
  /// Of a second stream that says it is AAC and is noise, for a container with both.
  int n_sound_packets = 0;
  /// Colour of a pixel; by default the whole frame is level_of(frame).
  std::function<Rgb(int frame, int x, int y)> paint = {};
};

ByteVector encode_clip(const ClipOptions& options);

/// A Matroska file of sound alone.
ByteVector encode_sound(int n_streams = 1);

/// Grey levels that tell frames apart after lossy coding: 30 of them, then from the start.
std::uint8_t level_of(int frame);

/// The frame (modulo 30) that a level is nearest to; −1 when it is near none.
int frame_of(std::uint8_t level);

}  // namespace tessera::media::video::testing
