#include "media/video/matroska_blocks.h"

#include <gtest/gtest.h>

#include "media/video/testing/encode_clip.h"

namespace tessera::media::video {
namespace {

using testing::ByteVector;
using testing::encode_clip;

constexpr int kMany = 1000;

TEST(MatroskaBlocks, AreThoseOfTheVideoTrackAndNotOfItsSound) {
  for (const char* container : {"webm", "matroska"}) {
    const ByteVector silent =
        encode_clip({.encoder = "libvpx", .container = container, .n_frames = 24});
    EXPECT_EQ(count_video_blocks(silent, kMany), 24) << container;
  }
  const ByteVector loud =
      encode_clip({.container = "matroska", .n_frames = 24, .n_sound_packets = 60});
  EXPECT_EQ(count_video_blocks(loud, kMany), 24);
}

TEST(MatroskaBlocks, AreNotCountedBeyondTheLimit) {
  const ByteVector file = encode_clip({.container = "matroska", .n_frames = 24});

  EXPECT_EQ(count_video_blocks(file, 7), 7);
  EXPECT_EQ(count_video_blocks(file, 0), 0);
}

TEST(MatroskaBlocks, OfADamagedFileAreAsManyAsCanBeReached) {
  const ByteVector whole = encode_clip({.container = "matroska", .n_frames = 24});
  int last = 0;
  for (std::size_t n = 0; n <= whole.size(); ++n) {
    const int n_blocks = count_video_blocks(Bytes(whole).first(n), kMany);
    EXPECT_GE(n_blocks, last) << n;
    last = n_blocks;
  }
  EXPECT_EQ(last, 24);
  std::uint32_t state = 7;
  for (int round = 0; round < 2000; ++round) {
    ByteVector noisy = whole;
    for (int i = 0; i < 5; ++i) {
      state = state * 1'664'525U + 1'013'904'223U;
      noisy[(state >> 8U) % noisy.size()] = static_cast<std::uint8_t>(state >> 3U);
    }
    EXPECT_LE(count_video_blocks(noisy, kMany), kMany);
  }
}

TEST(MatroskaBlocks, OfAnotherKindOfFileAreNone) {
  EXPECT_EQ(count_video_blocks({}, kMany), 0);
  EXPECT_EQ(count_video_blocks(encode_clip({.n_frames = 24}), kMany), 0);
}

}  // namespace
}  // namespace tessera::media::video
