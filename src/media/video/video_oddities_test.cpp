// Real files of odd kinds, made by libav, through the video worker and the session: right pixels,
// or a clear error that does not change; no decoder dies.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "media/decode_session.h"
#include "media/testing/byte_edits.h"
#include "media/testing/worker_zygote.h"
#include "media/video/demuxer.h"
#include "media/video/testing/encode_clip.h"
#include "media/video/testing/mp4_edits.h"

namespace tessera::media::video {
namespace {

using media::testing::put_big_u32;
using testing::ByteVector;
using testing::ClipOptions;
using testing::content_of;
using testing::cut_within;
using testing::encode_clip;
using testing::frame_of;
using testing::with_index_first;
using testing::without_box;

struct Outcome {
  std::string reason;       // "accepted", or the error's
  std::vector<int> frames;  // that the pictures show, by their levels
  std::vector<Image> images;
};

Outcome outcome_of(const ByteVector& file, int n_frames, const Limits& limits = {}) {
  DecoderOptions options;
  options.zygotes.video = &media::testing::worker_zygote(TESSERA_VIDEO_WORKER);
  options.base_timeout = std::chrono::milliseconds(60'000);
  std::vector<EncodedMedia> media;
  media.push_back(media::testing::to_media(file));
  media.back().n_frames = n_frames;
  auto session = DecodeSession::open(options, limits, media, {});
  if (!session) return {session.error().reason, {}, {}};
  auto images = session->decode();
  EXPECT_EQ(session->death(), std::nullopt);
  if (!images) return {images.error().reason, {}, {}};
  Outcome outcome{"accepted", {}, {}};
  for (const Image& image : *images) {
    outcome.frames.push_back(frame_of(image.rgb[image.rgb.size() / 2]));
  }
  outcome.images = *std::move(images);
  return outcome;
}

std::string reason_of(const ByteVector& file, const Limits& limits = {}) {
  return outcome_of(file, 8, limits).reason;
}

constexpr const char* kEncrypted =
    "encryption_scheme=cenc-aes-ctr:encryption_key=76a6c65c5ea762046bd749a2e632ccbb:"
    "encryption_kid=a7e61c373e219033c21091fa607bf3b8";

TEST(VideoOddities, AnEncryptedFileIsRefusedAsAVariantAndNotShownAsNoise) {
  for (const char* encoder : {"libx264", "libx265"}) {
    const ByteVector file = encode_clip({.encoder = encoder, .muxer_options = kEncrypted});

    EXPECT_EQ(reason_of(file), "video_variant_unsupported") << encoder;
  }
}

TEST(VideoOddities, SoundIsNotReadWhateverItIs) {
  for (const char* container : {"mp4", "mov", "matroska"}) {
    const ByteVector file =
        encode_clip({.container = container, .n_frames = 24, .n_sound_packets = 60});
    Limits limits;
    limits.video_frames_max = 24;  // packets of sound are no frames

    const Outcome outcome = outcome_of(file, 3, limits);

    EXPECT_EQ(outcome.reason, "accepted") << container;
    EXPECT_EQ(outcome.frames, (std::vector{0, 12, 23})) << container;
  }
}

TEST(VideoOddities, NoPacketOfSoundReachesWhoDecodes) {
  const ByteVector file = encode_clip({.n_frames = 24, .n_sound_packets = 60});
  Demuxer demuxer(file);
  ASSERT_EQ(demuxer.error(), MediaError::kNone);

  int n_packets = 0;
  while (const AVPacket* packet = demuxer.next()) {
    EXPECT_EQ(packet->stream_index, demuxer.stream().index);
    ++n_packets;
  }

  EXPECT_EQ(demuxer.stream().codecpar->codec_type, AVMEDIA_TYPE_VIDEO);
  EXPECT_EQ(n_packets, 24);
}

TEST(VideoOddities, AnotherSizeInMidStreamIsRefusedWhereItIsShown) {
  struct Kind {
    const char* encoder;
    const char* container;
  };
  for (const Kind& kind : {Kind{"libx264", "mp4"}, Kind{"libx264", "matroska"},
                           Kind{"libvpx", "webm"}, Kind{"libvpx-vp9", "webm"}}) {
    SCOPED_TRACE(std::string(kind.encoder) + " in " + kind.container);
    ClipOptions options{.encoder = kind.encoder, .container = kind.container, .n_b_frames = 0};
    options.resized_from = 16;
    for (const ImageSize size : {ImageSize{128, 96}, ImageSize{32, 16}}) {
      options.resized = size;
      const ByteVector file = encode_clip(options);

      EXPECT_EQ(reason_of(file), "video_variant_unsupported");
      EXPECT_EQ(outcome_of(file, 1).frames, (std::vector{0})) << "the first picture is sound";
    }
  }
}

TEST(VideoOddities, ASizeInMidStreamThatIsTooLargeIsNotDecoded) {
  ClipOptions options{.encoder = "libvpx", .container = "webm", .n_frames = 18};
  options.resized_from = 16;
  options.resized = {1280, 960};
  Limits limits;
  limits.image_pixels_max = 1'000'000;
  const ByteVector file = encode_clip(options);

  EXPECT_EQ(reason_of(file, limits), "video_variant_unsupported");
  EXPECT_EQ(outcome_of(file, 1, limits).frames, (std::vector{0})) << "which does not need it";
}

TEST(VideoOddities, ATooLargePictureIsRefusedByItsHeadersAlone) {
  ByteVector file = with_index_first(encode_clip({.size = {640, 480}, .n_frames = 2}));
  Limits limits;
  limits.image_pixels_max = 640 * 480 - 1;
  const std::size_t entry = content_of(file, "stsd") + 8;
  // The size that the track claims, behind the entry's size and name, and 24 bytes.
  ASSERT_EQ(file[entry + 32] * 256 + file[entry + 33], 640);
  file[entry + 32] = 0;
  file[entry + 33] = 64;

  // Whoever asks a decoder hears that the picture is invalid, and not that it is too large.
  EXPECT_EQ(reason_of(file, limits), "video_too_large");
}

TEST(VideoOddities, TooManyPicturesAreRefusedFromTheirListAndNoneIsRead) {
  const ByteVector file = without_box(with_index_first(encode_clip({.n_frames = 24})), "mdat");
  Limits limits;
  limits.video_frames_max = 23;

  EXPECT_EQ(reason_of(file, limits), "video_frames_too_many");
  limits.video_frames_max = 24;
  EXPECT_EQ(reason_of(file, limits), "video_invalid") << "there is none to read";
}

TEST(VideoOddities, UnevenTimestampsChangeNoPicture) {
  for (const char* container : {"mp4", "matroska"}) {
    const ByteVector file = encode_clip(
        {.container = container, .n_frames = 6, .timestamps_ms = {0, 1, 40, 1000, 1003, 90'000}});

    EXPECT_EQ(outcome_of(file, 6).frames, (std::vector{0, 1, 2, 3, 4, 5})) << container;
  }
}

TEST(VideoOddities, ATurnedFilmIsShownTurned) {
  for (const double clockwise : {90.0, -90.0}) {
    const ByteVector file = encode_clip(
        {.n_frames = 3, .rotation = clockwise, .paint = [](int, int x, int) -> testing::Rgb {
           return x < 32 ? testing::Rgb{250, 250, 250} : testing::Rgb{10, 10, 10};
         }});

    const Outcome outcome = outcome_of(file, 1);

    ASSERT_EQ(outcome.images.size(), 1U);
    const Image& image = outcome.images[0];
    EXPECT_EQ(image.size, (ImageSize{48, 64}));
    // What was left is above after a turn to the right.
    EXPECT_NEAR(image.rgb.front(), clockwise > 0 ? 250 : 10, 6);
    EXPECT_NEAR(image.rgb.back(), clockwise > 0 ? 10 : 250, 6);
  }
}

TEST(VideoOddities, TenBitsBecomeEight) {
  struct Kind {
    const char* encoder;
    const char* container;
  };
  for (const Kind& kind : {Kind{"libx264", "mp4"}, Kind{"libx265", "mp4"},
                           Kind{"libvpx-vp9", "webm"}, Kind{"libaom-av1", "mp4"}}) {
    const ByteVector file = encode_clip({.encoder = kind.encoder,
                                         .container = kind.container,
                                         .n_frames = 10,
                                         .pixel_format = "yuv420p10le"});

    EXPECT_EQ(outcome_of(file, 4).frames, (std::vector{0, 3, 6, 9})) << kind.encoder;
  }
}

TEST(VideoOddities, OddSizesAreShownWhole) {
  struct Kind {
    const char* encoder;
    const char* container;
    const char* pixel_format;
  };
  for (const Kind& kind :
       {Kind{"libx264", "mp4", "yuv444p"}, Kind{"libvpx", "webm", "yuv420p"},
        Kind{"libvpx-vp9", "webm", "yuv420p"}, Kind{"libaom-av1", "mp4", "yuv420p"}}) {
    const auto corner = [](int, int x, int y) -> testing::Rgb {
      return x >= 58 && y >= 42 ? testing::Rgb{250, 250, 250} : testing::Rgb{10, 10, 10};
    };
    const ByteVector file = encode_clip({.encoder = kind.encoder,
                                         .container = kind.container,
                                         .size = {63, 47},
                                         .n_frames = 2,
                                         .pixel_format = kind.pixel_format,
                                         .paint = corner});

    const Outcome outcome = outcome_of(file, 1);

    ASSERT_EQ(outcome.images.size(), 1U) << kind.encoder << " " << outcome.reason;
    EXPECT_EQ(outcome.images[0].size, (ImageSize{63, 47})) << kind.encoder;
    EXPECT_GT(outcome.images[0].rgb.back(), 235) << kind.encoder;
    EXPECT_LT(outcome.images[0].rgb.front(), 25) << kind.encoder;
  }
}

TEST(VideoOddities, AFilmOfOnePictureAndNoTimeHasIt) {
  for (const char* container : {"mp4", "matroska"}) {
    ByteVector file = encode_clip({.container = container, .n_frames = 1});
    EXPECT_EQ(outcome_of(file, 8).frames, (std::vector{0})) << container;
  }
}

TEST(VideoOddities, AnIndexThatSaysNoTimeIsNotBelieved) {
  ByteVector file = encode_clip({.n_frames = 12, .n_b_frames = 0});
  // stts: version and flags, a count, then how many pictures take how long.
  const std::size_t times = content_of(file, "stts");
  put_big_u32(file, times + 12, 0);

  const Outcome outcome = outcome_of(file, 12);

  EXPECT_EQ(outcome.reason, "accepted");
  EXPECT_EQ(outcome.images.size(), 12U);
}

TEST(VideoOddities, PicturesWithoutAnIndexAreInvalid) {
  const ByteVector file = encode_clip({.n_frames = 12});

  EXPECT_EQ(reason_of(without_box(file, "moov")), "video_invalid");
  EXPECT_EQ(reason_of(cut_within(file, "moov", 0.5)), "video_invalid");
  EXPECT_EQ(reason_of(without_box(with_index_first(file), "mdat")), "video_invalid");
}

TEST(VideoOddities, ACutFileShowsWhatIsThereOrIsInvalid) {
  const ByteVector file = with_index_first(encode_clip({.n_frames = 24, .n_b_frames = 0}));
  ASSERT_EQ(outcome_of(file, 3).frames, (std::vector{0, 12, 23}));
  int n_shown = 0;
  for (const double share : {0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99}) {
    const Outcome outcome = outcome_of(cut_within(file, "mdat", share), 1);

    EXPECT_TRUE(outcome.reason == "accepted" || outcome.reason == "video_invalid")
        << share << ": " << outcome.reason;
    if (outcome.reason != "accepted") continue;
    ++n_shown;
    EXPECT_EQ(outcome.frames, (std::vector{0})) << share;
  }
  EXPECT_GE(n_shown, 3);
}

TEST(VideoOddities, AnIndexThatPointsOutsideIsInvalid) {
  const ByteVector file = encode_clip({.n_frames = 12});
  ByteVector far = file;
  put_big_u32(far, content_of(far, "stco") + 8, 0x7FFFFFFF);
  ByteVector large = file;  // version and flags, one size for all, a count, then each
  put_big_u32(large, content_of(large, "stsz") + 12, 0x7FFFFFF0);
  ByteVector many = file;
  put_big_u32(many, content_of(many, "stsz") + 8, 0x7FFFFFFF);

  EXPECT_EQ(reason_of(far), "video_invalid");
  EXPECT_EQ(reason_of(large), "video_invalid");
  EXPECT_EQ(reason_of(many), "video_invalid");
}

}  // namespace
}  // namespace tessera::media::video
