#include "media/heif/hevc_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "media/heif/heif_file.h"
#include "media/heif/testing/encode_heic.h"
#include "media/testing/byte_edits.h"

namespace tessera::media::heif {
namespace {

using media::testing::gradient;
using testing::ByteVector;
using testing::encode_heic;

constexpr std::int64_t kPixelsMax = 40'000'000;

struct Outcome {
  MediaError error = MediaError::kNone;
  int n_pictures = 0;  // that were decoded
};

Outcome outcome_of(const ByteVector& file) {
  const HeifFile heif(file, kPixelsMax);
  EXPECT_EQ(heif.error(), MediaError::kNone);
  if (heif.error() != MediaError::kNone) return {heif.error(), 0};
  const PictureBudget budget(heif.announced_size());
  HeifPtr<heif_image> image;
  const MediaError error = heif.decode(image);
  return {error, budget.n_pictures()};
}

/// Saying another size than it has.
ByteVector announced_as(const ByteVector& file, std::uint32_t width, std::uint32_t height) {
  return media::testing::with_avif_extent(file, width, height);
}

TEST(HevcDecoder, DecodesOnePictureForAnImageAndOneForItsAlpha) {
  EXPECT_EQ(outcome_of(encode_heic(gradient({64, 48}))).n_pictures, 1);
  EXPECT_EQ(outcome_of(encode_heic(gradient({64, 48}), {.has_alpha = true})).n_pictures, 2);
}

TEST(HevcDecoder, DecodesNothingOfAPictureThatIsLargerThanAnnounced) {
  // Of other sizes the encoder says two, and the second one counts.
  for (const ImageSize size : {ImageSize{640, 64}, ImageSize{64, 640}}) {
    const ByteVector file = encode_heic(gradient(size));
    ASSERT_EQ(outcome_of(file).error, MediaError::kNone);

    const Outcome lying = outcome_of(announced_as(file, 16, 16));

    EXPECT_EQ(lying.error, MediaError::kInvalid);
    EXPECT_EQ(lying.n_pictures, 0) << size.width << "x" << size.height;
  }
}

TEST(HevcDecoder, WithoutABudgetDecodesNothing) {
  const ByteVector file = encode_heic(gradient({64, 48}));
  const HeifFile heif(file, kPixelsMax);
  HeifPtr<heif_image> image;

  EXPECT_EQ(PictureBudget::current(), nullptr);
  EXPECT_EQ(heif.decode(image), MediaError::kInvalid);
}

TEST(PictureBudget, AllowsTilesThatStickOutAndPaddingOfTheLastSquares) {
  EXPECT_TRUE(PictureBudget({300, 200}).take({512, 512})) << "a phone's tile";
  EXPECT_TRUE(PictureBudget({4000, 3000}).take({4000 + 63, 3000 + 63}));
  EXPECT_FALSE(PictureBudget({4000, 3000}).take({4000 + 64, 3000}));
  EXPECT_FALSE(PictureBudget({4000, 3000}).take({4000, 3000 + 64}));
}

TEST(PictureBudget, IsUsedUpByManyTilesAndStaysOverdrawn) {
  PictureBudget budget({1024, 1024});
  int n_tiles = 0;
  while (budget.take({512, 512})) ++n_tiles;

  EXPECT_GE(n_tiles, 8) << "four tiles, and four of alpha";
  EXPECT_LE(n_tiles, 18);
  EXPECT_TRUE(budget.is_overdrawn());
  EXPECT_FALSE(budget.take({1, 1}));
  EXPECT_EQ(budget.n_pictures(), n_tiles);
}

TEST(PictureBudget, OfTheLargestAnnouncedSizeOverflowsNothing) {
  EXPECT_TRUE(PictureBudget({INT32_MAX, INT32_MAX}).take({1 << 20, 1}));
}

}  // namespace
}  // namespace tessera::media::heif
