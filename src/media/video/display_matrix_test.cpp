#include "media/video/display_matrix.h"

#include <gtest/gtest.h>

namespace tessera::media::video {
namespace {

constexpr std::int32_t kOne = 0x10000;

Orientation of(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) {
  return orientation_of(std::array<std::int32_t, 9>{a, b, 0, c, d, 0, 0, 0, 0x40000000});
}

TEST(DisplayMatrix, KnowsTheEightOrientations) {
  EXPECT_EQ(of(kOne, 0, 0, kOne), Orientation::kUpright);
  EXPECT_EQ(of(-kOne, 0, 0, kOne), Orientation::kMirrorHorizontal);
  EXPECT_EQ(of(-kOne, 0, 0, -kOne), Orientation::kRotate180);
  EXPECT_EQ(of(kOne, 0, 0, -kOne), Orientation::kMirrorVertical);
  EXPECT_EQ(of(0, kOne, kOne, 0), Orientation::kTranspose);
  EXPECT_EQ(of(0, kOne, -kOne, 0), Orientation::kRotate90);
  EXPECT_EQ(of(0, -kOne, -kOne, 0), Orientation::kTransverse);
  EXPECT_EQ(of(0, -kOne, kOne, 0), Orientation::kRotate270);
}

TEST(DisplayMatrix, TakesTheNearestForAnythingElse) {
  EXPECT_EQ(of(0, 0, 0, 0), Orientation::kUpright);
  EXPECT_EQ(of(60'000, 20'000, -20'000, 60'000), Orientation::kUpright);
  EXPECT_EQ(of(INT32_MIN, INT32_MAX, INT32_MIN, INT32_MIN), Orientation::kRotate180);
}

}  // namespace
}  // namespace tessera::media::video
