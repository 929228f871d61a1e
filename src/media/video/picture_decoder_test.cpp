#include "media/video/picture_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "media/video/demuxer.h"
#include "media/video/testing/encode_clip.h"

namespace tessera::media::video {
namespace {

using testing::encode_clip;

/// Ranks of the pictures that come out when each packet has its place in decode order as its rank.
std::vector<std::int32_t> ranks_out(const testing::ByteVector& file, std::int64_t pixels_max) {
  Demuxer demuxer(file);
  PictureDecoder decoder(demuxer.stream(), pixels_max);
  EXPECT_EQ(decoder.error(), MediaError::kNone);
  std::vector<std::int32_t> ranks;
  const auto sink = [&ranks](const AVFrame&, std::int32_t rank) {
    ranks.push_back(rank);
    return MediaError::kNone;
  };
  std::int32_t n = 0;
  while (const AVPacket* packet = demuxer.next()) {
    EXPECT_EQ(decoder.decode(*packet, n++, sink), MediaError::kNone);
  }
  EXPECT_EQ(decoder.finish_range(sink), MediaError::kNone);
  return ranks;
}

TEST(PictureDecoder, BringsTheRankOfEachPacketToItsPicture) {
  const auto ranks = ranks_out(encode_clip({.n_frames = 9, .n_b_frames = 0}), 1'000'000);

  EXPECT_EQ(ranks, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(PictureDecoder, DoesNotOpenAStreamThatClaimsMoreThanItsPixels) {
  const auto file = encode_clip({.n_frames = 3});
  Demuxer demuxer(file);

  EXPECT_EQ(PictureDecoder(demuxer.stream(), 64 * 48 - 1).error(), MediaError::kUnsupportedVariant);
}

TEST(PictureDecoder, GivesNoPictureThatIsLargerThanItsPixels) {
  auto file = encode_clip({.n_frames = 3});
  // The container claims 16×16: width and height of the sample entry, behind its name by 28.
  constexpr std::string_view kEntry = "avc1";
  const auto brand = std::ranges::search(file, kEntry).end();
  const auto entry = std::search(brand, file.end(), kEntry.begin(), kEntry.end());
  std::ranges::copy(std::array<std::uint8_t, 4>{0, 16, 0, 16}, entry + 28);

  EXPECT_TRUE(ranks_out(file, 64 * 48 - 1).empty());
}

TEST(PictureDecoder, StopsWhenTheSinkSaysSo) {
  const auto file = encode_clip({.n_frames = 3, .n_b_frames = 0});
  Demuxer demuxer(file);
  PictureDecoder decoder(demuxer.stream(), 1'000'000);
  const auto sink = [](const AVFrame&, std::int32_t) { return MediaError::kUnsupportedVariant; };

  MediaError error = MediaError::kNone;
  while (const AVPacket* packet = demuxer.next()) {
    if (error == MediaError::kNone) error = decoder.decode(*packet, 0, sink);
  }
  if (error == MediaError::kNone) error = decoder.finish_range(sink);

  EXPECT_EQ(error, MediaError::kUnsupportedVariant);
}

}  // namespace
}  // namespace tessera::media::video
