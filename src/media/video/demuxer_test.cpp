#include "media/video/demuxer.h"

#include <gtest/gtest.h>

#include "media/video/testing/encode_clip.h"

namespace tessera::media::video {
namespace {

using testing::encode_clip;

TEST(Demuxer, GivesEveryPacketOfTheStreamOnce) {
  for (const char* container : {"mp4", "matroska"}) {
    const auto file = encode_clip({.container = container, .n_frames = 17});
    Demuxer demuxer(file);
    ASSERT_EQ(demuxer.error(), MediaError::kNone);

    int n_packets = 0;
    int n_keys = 0;
    while (const AVPacket* packet = demuxer.next()) {
      ++n_packets;
      if ((packet->flags & AV_PKT_FLAG_KEY) != 0) ++n_keys;
    }

    EXPECT_EQ(n_packets, 17) << container;
    EXPECT_EQ(n_keys, 3) << container;
    EXPECT_EQ(demuxer.next(), nullptr) << "the end stays the end";
  }
}

TEST(Demuxer, KnowsHowManyPicturesAreListedAndReadsNone) {
  for (const char* container : {"mp4", "matroska"}) {
    const auto file = encode_clip({.container = container, .n_frames = 17, .n_sound_packets = 40});
    Demuxer demuxer(file);
    ASSERT_EQ(demuxer.error(), MediaError::kNone);

    EXPECT_EQ(demuxer.n_listed(100), 17) << container;
    EXPECT_EQ(demuxer.n_listed(5), 5) << container;
    int n_packets = 0;
    while (demuxer.next() != nullptr) ++n_packets;
    EXPECT_EQ(n_packets, 17) << container;
  }
}

TEST(Demuxer, DecodesFiveCodecsAndNoOther) {
  for (const AVCodecID codec :
       {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_VP8, AV_CODEC_ID_VP9, AV_CODEC_ID_AV1}) {
    ASSERT_NE(decoder_name(codec), nullptr);
    EXPECT_NE(::avcodec_find_decoder_by_name(decoder_name(codec)), nullptr) << decoder_name(codec);
  }
  for (const AVCodecID codec : {AV_CODEC_ID_NONE, AV_CODEC_ID_MPEG4, AV_CODEC_ID_PRORES,
                                AV_CODEC_ID_RAWVIDEO, AV_CODEC_ID_PNG}) {
    EXPECT_EQ(decoder_name(codec), nullptr);
  }
}

TEST(Demuxer, AFileOfTooManyStreamsIsInvalidAndNoLackOfMemory) {
  EXPECT_EQ(Demuxer(testing::encode_sound(32)).error(), MediaError::kUnsupportedVariant);
  EXPECT_EQ(Demuxer(testing::encode_sound(33)).error(), MediaError::kInvalid);
}

TEST(Demuxer, DoesNotOpenWhatAnotherContainerWouldNeed) {
  // The brand says MP4, the rest is a playlist.
  const std::string text = std::string(
                               "\0\0\0\x10"
                               "ftypisom\0\0\0\0",
                               16) +
                           "#EXTM3U\nhttp://127.0.0.1:9/a.ts\n";
  const testing::ByteVector file(text.begin(), text.end());

  EXPECT_EQ(Demuxer(file).error(), MediaError::kInvalid);
}

}  // namespace
}  // namespace tessera::media::video
