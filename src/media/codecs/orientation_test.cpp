#include "media/codecs/orientation.h"

#include <gtest/gtest.h>

#include <string>

#include "media/testing/metadata.h"

namespace tessera::media {
namespace {

using testing::exif_with_orientation;

/// Moves "abc/def" (3×2) as the orientation says and returns the rows.
std::string moved(Orientation orientation) {
  constexpr ImageSize kStored{3, 2};
  const std::string pixels = "abcdef";
  std::string out(6, '?');
  for (int y = 0; y < kStored.height; ++y) {
    const RowPath path = row_path(kStored, orientation, y);
    for (int x = 0; x < kStored.width; ++x) {
      out[static_cast<std::size_t>(path.first + x * path.step)] =
          pixels[static_cast<std::size_t>(y * kStored.width + x)];
    }
  }
  const auto width = static_cast<std::size_t>(oriented(kStored, orientation).width);
  std::string rows;
  for (std::size_t at = 0; at < out.size(); at += width) {
    rows += (rows.empty() ? "" : "/") + out.substr(at, width);
  }
  return rows;
}

//   stored:  a b c
//            d e f
TEST(Orientation, MovesPixelsAsExifDefines) {
  EXPECT_EQ(moved(Orientation::kUpright), "abc/def");
  EXPECT_EQ(moved(Orientation::kMirrorHorizontal), "cba/fed");
  EXPECT_EQ(moved(Orientation::kRotate180), "fed/cba");
  EXPECT_EQ(moved(Orientation::kMirrorVertical), "def/abc");
  EXPECT_EQ(moved(Orientation::kTranspose), "ad/be/cf");
  EXPECT_EQ(moved(Orientation::kRotate90), "da/eb/fc");
  EXPECT_EQ(moved(Orientation::kTransverse), "fc/eb/da");
  EXPECT_EQ(moved(Orientation::kRotate270), "cf/be/ad");
}

TEST(ExifOrientation, IsReadInBothByteOrdersWithAndWithoutPrefix) {
  for (int value = 1; value <= 8; ++value) {
    for (const bool big_endian : {false, true}) {
      const auto exif = exif_with_orientation(value, big_endian);
      EXPECT_EQ(parse_exif_orientation(exif), static_cast<Orientation>(value));
      EXPECT_EQ(parse_exif_orientation(testing::with_exif_prefix(exif)),
                static_cast<Orientation>(value));
    }
  }
}

TEST(ExifOrientation, ValuesOutsideOneToEightAreUpright) {
  EXPECT_EQ(parse_exif_orientation(exif_with_orientation(0)), Orientation::kUpright);
  EXPECT_EQ(parse_exif_orientation(exif_with_orientation(9)), Orientation::kUpright);
  EXPECT_EQ(parse_exif_orientation(exif_with_orientation(0xFFFF)), Orientation::kUpright);
}

TEST(ExifOrientation, OtherTypesAndCountsAreUpright) {
  auto wrong_type = exif_with_orientation(6);
  auto wrong_count = exif_with_orientation(6);
  wrong_type[8 + 2 + 12 + 2] = 4;  // LONG
  wrong_count[8 + 2 + 12 + 4] = 2;

  EXPECT_EQ(parse_exif_orientation(wrong_type), Orientation::kUpright);
  EXPECT_EQ(parse_exif_orientation(wrong_count), Orientation::kUpright);
}

TEST(ExifOrientation, SurvivesEveryTruncationAndEveryByteValue) {
  const auto exif = exif_with_orientation(6);
  for (std::size_t n = 0; n < exif.size(); ++n) {
    // A copy of exactly n bytes, so that a sanitizer sees any read behind it.
    const std::vector<std::uint8_t> cut(exif.begin(),
                                        exif.begin() + static_cast<std::ptrdiff_t>(n));
    const auto orientation = parse_exif_orientation(cut);
    EXPECT_TRUE(orientation == Orientation::kUpright || orientation == Orientation::kRotate90);
  }
  for (std::size_t i = 0; i < exif.size(); ++i) {
    for (const int value : {0x00, 0x7F, 0x80, 0xFF}) {
      auto changed = exif;
      changed[i] = static_cast<std::uint8_t>(value);
      const auto number = static_cast<int>(parse_exif_orientation(changed));
      EXPECT_TRUE(number >= 1 && number <= 8);
    }
  }
}

TEST(ExifOrientation, ADirectoryThatPointsToItselfIsReadOnce) {
  auto cyclic = exif_with_orientation(3);
  cyclic[cyclic.size() - 4] = 8;  // next directory = this one

  EXPECT_EQ(parse_exif_orientation(cyclic), Orientation::kRotate180);
}

}  // namespace
}  // namespace tessera::media
