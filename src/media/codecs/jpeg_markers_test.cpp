#include "media/codecs/jpeg_markers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "media/testing/encode_images.h"
#include "media/testing/metadata.h"

namespace tessera::media {
namespace {

using testing::ByteVector;
using testing::encode_jpeg;
using testing::gradient;

/// Where a marker's 0xFF lies.
std::size_t find_marker(const ByteVector& file, std::uint8_t marker) {
  const std::array<std::uint8_t, 2> wanted{0xFF, marker};
  return static_cast<std::size_t>(std::ranges::search(file, wanted).begin() - file.begin());
}

TEST(JpegStructure, ReadsSizeScansAndExif) {
  const auto exif = testing::with_exif_prefix(testing::exif_with_orientation(6));
  const auto file = encode_jpeg(gradient({33, 17}), {.exif = exif, .icc = {}});

  const JpegStructure structure = read_jpeg_structure(file);

  EXPECT_EQ(structure.error, MediaError::kNone);
  EXPECT_EQ(structure.size, (ImageSize{33, 17}));
  EXPECT_EQ(structure.n_scans, 1);
  EXPECT_TRUE(std::ranges::equal(structure.exif, exif));
}

TEST(JpegStructure, CountsTheScansOfAProgressiveFile) {
  const auto file = encode_jpeg(gradient({33, 17}), {.progressive = true, .exif = {}, .icc = {}});

  EXPECT_EQ(read_jpeg_structure(file).n_scans, 10);
}

TEST(JpegStructure, AMissingEndIsATruncation) {
  auto file = encode_jpeg(gradient({33, 17}));
  file.resize(file.size() - 2);

  EXPECT_EQ(read_jpeg_structure(file).error, MediaError::kInvalid);
}

TEST(JpegStructure, IgnoresWhatFollowsTheEnd) {
  auto file = encode_jpeg(gradient({33, 17}));
  file.insert(file.end(), {'P', 'K', 3, 4, 0xFF, 0xDA, 0xFF});

  EXPECT_EQ(read_jpeg_structure(file).error, MediaError::kNone);
  EXPECT_EQ(read_jpeg_structure(file).n_scans, 1);
}

TEST(JpegStructure, LosslessAndTwelveBitFramesAreUnsupportedVariants) {
  auto lossless = encode_jpeg(gradient({8, 8}));
  auto twelve_bit = lossless;
  const std::size_t frame = find_marker(lossless, 0xC0);
  lossless[frame + 1] = 0xC3;
  twelve_bit[frame + 4] = 12;

  EXPECT_EQ(read_jpeg_structure(lossless).error, MediaError::kUnsupportedVariant);
  EXPECT_EQ(read_jpeg_structure(twelve_bit).error, MediaError::kUnsupportedVariant);
}

TEST(JpegStructure, ASecondFrameIsCorrupt) {
  auto file = encode_jpeg(gradient({8, 8}));
  const auto frame = static_cast<std::ptrdiff_t>(find_marker(file, 0xC0));
  const ByteVector copy(file.begin() + frame, file.begin() + frame + 19);
  file.insert(file.begin() + frame, copy.begin(), copy.end());

  EXPECT_EQ(read_jpeg_structure(file).error, MediaError::kInvalid);
}

TEST(JpegStructure, SurvivesImpossibleSegmentLengths) {
  for (const int length : {0, 1, 2, 5, 0xFFFF}) {
    const ByteVector file{0xFF,
                          0xD8,
                          0xFF,
                          0xC0,
                          static_cast<std::uint8_t>(length >> 8),
                          static_cast<std::uint8_t>(length),
                          8,
                          0,
                          1};
    EXPECT_EQ(read_jpeg_structure(file).error, MediaError::kInvalid);
  }
  EXPECT_EQ(read_jpeg_structure(ByteVector{0xFF, 0xD8, 0xFF}).error, MediaError::kInvalid);
  EXPECT_EQ(read_jpeg_structure(ByteVector{0xFF, 0xD8, 0xFF, 0xC0, 0x00}).error,
            MediaError::kInvalid);
}

}  // namespace
}  // namespace tessera::media
