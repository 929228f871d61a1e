#include "media/video/testing/mp4_edits.h"

#include <gtest/gtest.h>

#include "media/video/testing/encode_clip.h"

namespace tessera::media::video::testing {
namespace {

TEST(Mp4Edits, MovesTheIndexAndLosesNoByte) {
  const ByteVector file = encode_clip({.n_frames = 3});

  const ByteVector first = with_index_first(file);

  EXPECT_EQ(first.size(), file.size());
  EXPECT_GT(find_box(file, "moov").at, find_box(file, "mdat").at);
  EXPECT_LT(find_box(first, "moov").at, find_box(first, "mdat").at);
}

TEST(Mp4Edits, CutsWhereItIsTold) {
  const ByteVector file = encode_clip({.n_frames = 3});
  const Mp4Box pictures = find_box(file, "mdat");

  EXPECT_EQ(cut_within(file, "mdat", 0.5).size(), pictures.at + pictures.n_bytes / 2);
  EXPECT_EQ(without_box(file, "mdat").size(), file.size() - pictures.n_bytes);
}

}  // namespace
}  // namespace tessera::media::video::testing
