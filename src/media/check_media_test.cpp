#include "media/check_media.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "media/testing/encode_images.h"
#include "media/testing/worker_zygote.h"

namespace tessera::media {
namespace {

using testing::to_media;

/// What a file of each class starts with; no more is looked at.
testing::ByteVector head_of(std::string_view text) {
  testing::ByteVector bytes(64, 0);
  std::ranges::copy(text, bytes.begin());
  return bytes;
}
const testing::ByteVector kVideo = head_of("\x1A\x45\xDF\xA3");
const testing::ByteVector kHeic =
    head_of({"\0\0\0\x18"
             "ftypheic",
             12});
const testing::ByteVector kPng = head_of("\x89PNG\r\n\x1A\n");

std::vector<EncodedMedia> media_of(std::initializer_list<testing::ByteVector> files) {
  std::vector<EncodedMedia> media;
  for (const auto& file : files) {
    media.push_back(to_media(file));
    media.back().field = "file" + std::to_string(media.size());
  }
  return media;
}

/// One process stands for all classes: none of its children is started here.
DecoderZygotes all_classes() {
  auto* zygote = &testing::worker_zygote(TESSERA_MEDIA_WORKER);
  return {zygote, zygote, zygote};
}

Error refusal_of(const DecoderZygotes& zygotes, const Limits& limits,
                 std::span<const EncodedMedia> media) {
  const auto checked = check_media(zygotes, limits, media);
  return checked ? Error{} : checked.error();
}

TEST(CheckMedia, NamesTheClassOfEachFileInOrder) {
  const auto media = media_of({kVideo, kPng, kHeic});

  const auto classes = check_media(all_classes(), {}, media);

  ASSERT_TRUE(classes) << classes.error().message;
  EXPECT_EQ(*classes,
            (std::vector{DecoderClass::kVideo, DecoderClass::kImage, DecoderClass::kHeif}));
}

TEST(CheckMedia, RefusesAClassThatIsOffAndNamesItsSetting) {
  DecoderZygotes images_only;
  images_only.image = all_classes().image;

  const Error video = refusal_of(images_only, {}, media_of({kPng, kVideo}));
  const Error heic = refusal_of(images_only, {}, media_of({kHeic}));

  EXPECT_EQ(video.code, ErrorCode::kUnsupportedMedia);
  EXPECT_EQ(video.reason, "video_disabled");
  EXPECT_EQ(video.message.substr(0, 9), "video 2: ");
  EXPECT_NE(video.message.find("allow_video"), std::string::npos);
  EXPECT_EQ(video.param, "file2");
  EXPECT_EQ(heic.reason, "heic_disabled");
  EXPECT_NE(heic.message.find("allow_heic"), std::string::npos);
}

TEST(CheckMedia, CountsVideosAndHoldsThemAgainstTheirOwnLimits) {
  Limits limits;
  limits.videos_max = 1;
  limits.image_bytes_max = 64;
  limits.video_bytes_max = 63;

  EXPECT_EQ(refusal_of(all_classes(), limits, media_of({kPng})).reason, "");
  EXPECT_EQ(refusal_of(all_classes(), limits, media_of({kVideo})).reason, "video_bytes_too_large");
  limits.video_bytes_max = 64;
  EXPECT_EQ(refusal_of(all_classes(), limits, media_of({kVideo, kPng})).reason, "");
  const Error two = refusal_of(all_classes(), limits, media_of({kVideo, kPng, kVideo}));
  EXPECT_EQ(two.reason, "too_many_videos");
  EXPECT_EQ(two.param, "file3");
  EXPECT_EQ(two.message, "2 videos exceed 1 in one request");
}

TEST(CheckRequestPixels, CountsOfAVideoWhatIsShownAndWhatIsGoneThrough) {
  Limits limits;
  limits.request_pixels_max = 5'000;
  limits.video_pixels_max = 90'000;
  const ProbedImage picture{MediaFormat::kGif, {10, 10}, 30, 2, 30};      // 3000
  const ProbedImage video{MediaFormat::kVideo, {10, 10}, 2000, 20, 900};  // 2000 and 90 000

  EXPECT_TRUE(check_request_pixels(std::array{picture, video}, limits));

  limits.request_pixels_max = 4'999;
  EXPECT_EQ(check_request_pixels(std::array{picture, video}, limits).error().reason,
            "request_pixels_too_large");
  limits.request_pixels_max = 5'000;
  limits.video_pixels_max = 89'999;
  EXPECT_EQ(check_request_pixels(std::array{picture, video}, limits).error().message,
            "the files up to number 2 need 90000 pixels of video decoded, which exceed 89999 in "
            "one request; ask for fewer frames, or send a shorter clip");
}

TEST(FramesWanted, AreEightOfAVideoAndOneOfAPictureUnlessTheRequestSays) {
  EncodedMedia media;
  Limits limits;
  const auto wanted = [&](DecoderClass decoder_class) {
    return frames_wanted(media, decoder_class, limits);
  };

  EXPECT_EQ(wanted(DecoderClass::kVideo), 8);
  EXPECT_EQ(wanted(DecoderClass::kImage), 1);
  EXPECT_EQ(wanted(DecoderClass::kHeif), 1);
  limits.frames_max = 3;
  EXPECT_EQ(wanted(DecoderClass::kVideo), 3);
  media.n_frames = 2;
  EXPECT_EQ(wanted(DecoderClass::kVideo), 2);
  media.n_frames = 1000;
  EXPECT_EQ(wanted(DecoderClass::kVideo), 64);
}

}  // namespace
}  // namespace tessera::media
