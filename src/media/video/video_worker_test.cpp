// The video worker as the server has it: a zygote, its locked-down children, and the session.
#include <gtest/gtest.h>

#include "media/decode_session.h"
#include "media/testing/encode_images.h"
#include "media/testing/worker_zygote.h"
#include "media/video/testing/encode_clip.h"

namespace tessera::media::video {
namespace {

using media::testing::to_media;
using testing::ClipOptions;
using testing::encode_clip;
using testing::frame_of;

DecoderOptions video_only() {
  DecoderOptions options;
  options.zygotes.video = &media::testing::worker_zygote(TESSERA_VIDEO_WORKER);
  options.base_timeout = std::chrono::milliseconds(60'000);
  return options;
}

std::vector<EncodedMedia> media_of(const testing::ByteVector& file,
                                   std::optional<int> n_frames = {}) {
  std::vector<EncodedMedia> media;
  media.push_back(to_media(file));
  media.back().n_frames = n_frames;
  return media;
}

Result<std::vector<int>> shown(const std::vector<EncodedMedia>& media, const Limits& limits = {}) {
  TSR_ASSIGN_OR_RETURN(DecodeSession session, DecodeSession::open(video_only(), limits, media, {}));
  TSR_ASSIGN_OR_RETURN(const std::vector<Image> images, session.decode());
  std::vector<int> frames;
  for (const Image& image : images) frames.push_back(frame_of(image.rgb[image.rgb.size() / 2]));
  return frames;
}

std::string reason_of(const std::vector<EncodedMedia>& media, const Limits& limits) {
  const auto result = shown(media, limits);
  return result ? "accepted" : result.error().reason;
}

TEST(VideoWorker, IsConfined) {
  EXPECT_NE(video_only().zygotes.video->level(), sandbox::SandboxLevel::kC);
}

TEST(VideoWorker, DecodesEachCodecUnderItsFilter) {
  struct Kind {
    const char* encoder;
    const char* container;
  };
  for (const Kind& kind : {Kind{"libx264", "mp4"}, Kind{"libx265", "mp4"}, Kind{"libvpx", "webm"},
                           Kind{"libvpx-vp9", "webm"}, Kind{"libaom-av1", "webm"}}) {
    const auto file =
        encode_clip({.encoder = kind.encoder, .container = kind.container, .n_frames = 15});

    const auto frames = shown(media_of(file));

    ASSERT_TRUE(frames) << kind.encoder << ": " << frames.error().message;
    EXPECT_EQ(*frames, (std::vector{0, 2, 4, 6, 8, 10, 12, 14})) << kind.encoder;
  }
}

TEST(VideoWorker, GivesAsManyFramesAsTheRequestWants) {
  const auto file = encode_clip({.n_frames = 9});

  EXPECT_EQ(shown(media_of(file, 1)).value(), (std::vector{0}));
  EXPECT_EQ(shown(media_of(file, 3)).value(), (std::vector{0, 4, 8}));
  EXPECT_EQ(shown(media_of(file, 64)).value().size(), 9U);
}

TEST(VideoWorker, WorksBesideTheImageWorkerAndFilesKeepTheirOrder) {
  const auto clip = encode_clip({.n_frames = 9});
  std::vector<EncodedMedia> media;
  media.push_back(to_media(media::testing::encode_png(media::testing::gradient({5, 3}))));
  media.push_back(to_media(clip));
  media.back().n_frames = 2;
  media.push_back(to_media(media::testing::encode_png(media::testing::gradient({7, 2}))));
  media.push_back(to_media(clip));
  media.back().n_frames = 1;
  DecoderOptions both = video_only();
  both.zygotes.image = &media::testing::worker_zygote(TESSERA_MEDIA_WORKER);

  auto session = DecodeSession::open(both, {}, media, {});
  ASSERT_TRUE(session) << session.error().message;
  const auto images = session->decode();

  ASSERT_TRUE(images) << images.error().message;
  std::vector<ImageSize> sizes;
  for (const Image& image : *images) sizes.push_back(image.size);
  const ImageSize frame{64, 48};
  EXPECT_EQ(sizes, (std::vector<ImageSize>{{5, 3}, frame, frame, {7, 2}, frame}));
  EXPECT_EQ(frame_of((*images)[2].rgb.back()), 8);
  EXPECT_EQ(frame_of((*images)[4].rgb.back()), 0);
}

TEST(VideoWorker, AFileOfOneClassThatIsRefusedIsNamedByItsPlaceInTheRequest) {
  std::vector<EncodedMedia> media;
  media.push_back(to_media(media::testing::encode_png(media::testing::gradient({5, 3}))));
  media.push_back(to_media(encode_clip({.encoder = "mpeg4"})));
  media.back().field = "there";
  DecoderOptions both = video_only();
  both.zygotes.image = &media::testing::worker_zygote(TESSERA_MEDIA_WORKER);

  auto session = DecodeSession::open(both, {}, media, {});
  ASSERT_TRUE(session);
  const auto probed = session->probe();

  ASSERT_FALSE(probed);
  EXPECT_EQ(probed.error().message.substr(0, 9), "video 2: ");
  EXPECT_EQ(probed.error().param, "there");
}

TEST(VideoWorker, SurvivesEveryOddFile) {
  auto damaged =
      encode_clip({.n_frames = 12, .muxer_options = "movflags=frag_keyframe+empty_moov"});
  for (std::size_t i = damaged.size() / 2; i < damaged.size(); i += 7) damaged[i] ^= 0x5AU;
  const auto cut = testing::ByteVector(
      damaged.begin(), damaged.begin() + static_cast<std::ptrdiff_t>(damaged.size() / 3));

  for (const auto& file :
       {damaged, cut, encode_clip({.encoder = "mpeg4"}), testing::encode_sound()}) {
    const auto frames = shown(media_of(file));
    if (!frames) EXPECT_NE(frames.error().reason, "media_decoder_failed");
  }
}

TEST(VideoWorker, RefusalsNameTheVideoItsNumberAndItsLimit) {
  const auto media = media_of(encode_clip({.size = {64, 48}, .n_frames = 50}));
  const auto with = [&](auto change) {
    Limits limits;
    change(limits);
    return reason_of(media, limits);
  };

  EXPECT_EQ(with([](Limits& l) { l.video_seconds_max = 1; }), "video_too_long");
  EXPECT_EQ(with([](Limits& l) { l.video_frames_max = 49; }), "video_frames_too_many");
  EXPECT_EQ(with([](Limits& l) { l.video_pixels_max = 64 * 48 * 7; }), "video_pixels_too_many");
  EXPECT_EQ(with([](Limits& l) { l.request_pixels_max = 64 * 48 * 7; }),
            "request_pixels_too_large");
  EXPECT_EQ(with([](Limits& l) { l.image_side_max = 63; }), "video_side_too_large");
  EXPECT_EQ(with([](Limits&) {}), "accepted");
  EXPECT_EQ(reason_of(media_of(encode_clip({.encoder = "mpeg4"})), {}),
            "video_variant_unsupported");
  Limits limits;
  limits.video_frames_max = 49;
  EXPECT_EQ(shown(media, limits).error().message, "video 1: more than 49 frames");
}

}  // namespace
}  // namespace tessera::media::video
