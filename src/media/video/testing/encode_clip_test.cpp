#include "media/video/testing/encode_clip.h"

#include <gtest/gtest.h>

namespace tessera::media::video::testing {
namespace {

TEST(EncodeClip, MakesTheSameFileTwice) {
  EXPECT_EQ(encode_clip({.n_frames = 3}), encode_clip({.n_frames = 3}));
}

TEST(EncodeClip, LevelsTellThirtyFramesApart) {
  for (int frame = 0; frame < 30; ++frame) {
    for (int noise = -3; noise <= 3; ++noise) {
      EXPECT_EQ(frame_of(static_cast<std::uint8_t>(level_of(frame) + noise)), frame);
    }
  }
  EXPECT_EQ(frame_of(static_cast<std::uint8_t>(level_of(4) + 4)), -1);
}

}  // namespace
}  // namespace tessera::media::video::testing
