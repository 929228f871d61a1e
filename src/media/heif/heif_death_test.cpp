#include <gtest/gtest.h>

#include "media/heif/testing/encode_heic.h"
#include "media/testing/child_deaths.h"
#include "media/testing/encode_images.h"
#include "media/testing/worker_zygote.h"

namespace tessera::media::heif {
namespace {

DecoderZygotes zygotes() {
  DecoderZygotes zygotes;
  zygotes.heif = &media::testing::worker_zygote(TESSERA_HEIF_WORKER);
  return zygotes;
}

std::vector<EncodedMedia> one_file() {
  std::vector<EncodedMedia> media;
  media.push_back(
      media::testing::to_media(testing::encode_heic(media::testing::gradient({64, 48}))));
  return media;
}

TEST(HeifDeath, AChildThatIsKilledFailsItsRequestAndNoOther) {
  media::testing::expect_that_a_killed_child_fails_its_request_alone(
      zygotes(), one_file(), DecoderClass::kHeif, "image 1: ");
}

TEST(HeifDeath, AChildThatIsStoppedIsKilledAtItsDeadline) {
  media::testing::expect_that_a_stopped_child_is_killed_at_its_deadline(zygotes(), one_file());
}

}  // namespace
}  // namespace tessera::media::heif
