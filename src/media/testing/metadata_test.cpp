#include "media/testing/metadata.h"

#include <gtest/gtest.h>

namespace tessera::media::testing {
namespace {

TEST(Metadata, ProfilesCarryTheIccSignature) {
  for (const ByteVector& profile : {icc_srgb(), icc_with_red_and_green_swapped(), icc_display_p3(),
                                    icc_adobe_rgb(), icc_linear_gray(), icc_black_only_cmyk()}) {
    ASSERT_GT(profile.size(), 128U);
    EXPECT_EQ(std::string(profile.begin() + 36, profile.begin() + 40), "acsp");
  }
}

TEST(Metadata, ExifFollowsTheAskedByteOrder) {
  EXPECT_EQ(exif_with_orientation(6, false)[0], 'I');
  EXPECT_EQ(exif_with_orientation(6, true)[0], 'M');
  EXPECT_EQ(with_exif_prefix({1})[0], 'E');
}

}  // namespace
}  // namespace tessera::media::testing
