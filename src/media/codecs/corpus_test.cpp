// Every file of the corpus through probe and decode, with its outcome.
#include "media/testing/corpus.h"

#include <gtest/gtest.h>

#include "media/codecs/test_decode.h"

namespace tessera::media {
namespace {

using testing::CorpusFile;

/// Refusals of what a header says, which must come before pixel memory is spent.
bool is_refused_by_header(MediaError error) {
  switch (error) {
    case MediaError::kUnsupportedFormat:
    case MediaError::kSideTooLarge:
    case MediaError::kPixelsTooMany:
    case MediaError::kAspectTooLarge:
    case MediaError::kScansTooMany:
      return true;
    default:
      return false;
  }
}

void expect_outcomes(const std::vector<CorpusFile>& files) {
  for (const CorpusFile& file : files) {
    SCOPED_TRACE(file.name);
    const ImageHeader header = probe_image(file.bytes, image_limits(Limits{}));
    const Decoded decoded = decode_for_test(file.bytes);

    EXPECT_NE(decoded.error, MediaError::kWorkerFailed);
    EXPECT_NE(decoded.error, MediaError::kOutOfMemory);
    if (!file.expected) continue;
    EXPECT_EQ(decoded.error, *file.expected);
    if (*file.expected == MediaError::kNone) EXPECT_EQ(decoded.size, file.size);
    // The probe allocates no raster.
    if (is_refused_by_header(*file.expected)) EXPECT_EQ(header.error, *file.expected);
  }
}

TEST(Corpus, SizesThatWouldCostAreRefusedByTheHeader) {
  expect_outcomes(testing::corpus_of_sizes());
}

TEST(Corpus, OddFilesDecodeAndLyingMetadataIsIgnored) {
  expect_outcomes(testing::corpus_of_oddities());
}

TEST(Corpus, OtherTypesAreRefusedAndPolyglotsAreWhatTheyBeginWith) {
  expect_outcomes(testing::corpus_of_types());
}

TEST(Corpus, DamageIsNoticedOrHarmless) {
  expect_outcomes(testing::corpus_of_damage());
}

TEST(Corpus, SeedsDecodeWholeAndSmall) {
  expect_outcomes(testing::corpus_of_seeds());
  for (const CorpusFile& seed : testing::corpus_of_seeds()) {
    EXPECT_EQ(decode_for_test(seed.bytes, ImageSize{7, 5}).error, MediaError::kNone) << seed.name;
  }
}

}  // namespace
}  // namespace tessera::media
