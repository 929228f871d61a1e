#include "media/heif/heif_file.h"

#include <gtest/gtest.h>

#include "media/heif/testing/encode_heic.h"
#include "media/testing/metadata.h"

namespace tessera::media::heif {
namespace {

using media::testing::gradient;
using testing::encode_heic;

constexpr std::int64_t kPixelsMax = 1'000'000;

TEST(HeifFile, TellsSizeAndAlphaWithoutDecoding) {
  const auto file = encode_heic(gradient({40, 30}), {.has_alpha = true});
  const HeifFile heif(file, kPixelsMax);

  ASSERT_EQ(heif.error(), MediaError::kNone);
  EXPECT_EQ(heif.size(), (ImageSize{40, 30}));
  EXPECT_TRUE(heif.has_alpha());
  EXPECT_TRUE(heif.profile(1000).empty()) << "its code points are those of sRGB";
}

TEST(HeifFile, MakesAProfileOfOtherCodePoints) {
  const auto file = encode_heic(gradient({40, 30}), {.color_primaries = 12});  // Display P3
  const HeifFile heif(file, kPixelsMax);

  EXPECT_FALSE(heif.profile(1000).empty());
}

TEST(HeifFile, TakesTheFilesOwnProfileUpToItsLimit) {
  testing::ByteVector icc(600, 7);
  const auto file = encode_heic(gradient({40, 30}), {.icc = icc});
  const HeifFile heif(file, kPixelsMax);

  EXPECT_EQ(heif.profile(600), icc);
  EXPECT_TRUE(heif.profile(599).empty());
}

TEST(HeifFile, DecodesNothingThatIsLargerThanItMay) {
  const auto file = encode_heic(gradient({64, 64}));
  const HeifFile heif(file, 32 * 32);
  HeifPtr<heif_image> image;

  const bool is_refused =
      heif.error() != MediaError::kNone || heif.decode(image) != MediaError::kNone;

  EXPECT_TRUE(is_refused);
}

TEST(HeifFile, ClassifiesErrors) {
  EXPECT_EQ(classify({heif_error_Ok, heif_suberror_Unspecified, ""}), MediaError::kNone);
  EXPECT_EQ(classify({heif_error_Invalid_input, heif_suberror_Unspecified, ""}),
            MediaError::kInvalid);
  EXPECT_EQ(classify({heif_error_Unsupported_feature, heif_suberror_Unspecified, ""}),
            MediaError::kUnsupportedVariant);
  EXPECT_EQ(classify({heif_error_Memory_allocation_error, heif_suberror_Unspecified, ""}),
            MediaError::kOutOfMemory);
  EXPECT_EQ(
      classify({heif_error_Memory_allocation_error, heif_suberror_Security_limit_exceeded, ""}),
      MediaError::kInvalid);
}

}  // namespace
}  // namespace tessera::media::heif
