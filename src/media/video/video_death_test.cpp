#include <gtest/gtest.h>

#include "media/testing/child_deaths.h"
#include "media/testing/encode_images.h"
#include "media/testing/worker_zygote.h"
#include "media/video/testing/encode_clip.h"

namespace tessera::media::video {
namespace {

DecoderZygotes zygotes() {
  DecoderZygotes zygotes;
  zygotes.video = &media::testing::worker_zygote(TESSERA_VIDEO_WORKER);
  return zygotes;
}

std::vector<EncodedMedia> one_file() {
  std::vector<EncodedMedia> media;
  media.push_back(media::testing::to_media(testing::encode_clip({.n_frames = 9})));
  return media;
}

TEST(VideoDeath, AChildThatIsKilledFailsItsRequestAndNoOther) {
  media::testing::expect_that_a_killed_child_fails_its_request_alone(
      zygotes(), one_file(), DecoderClass::kVideo, "video 1: ");
}

TEST(VideoDeath, AChildThatIsStoppedIsKilledAtItsDeadline) {
  media::testing::expect_that_a_stopped_child_is_killed_at_its_deadline(zygotes(), one_file());
}

}  // namespace
}  // namespace tessera::media::video
