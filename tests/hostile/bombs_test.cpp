// Each bomb through the workers as the server has them: refused for its reason, and the server's
// own memory stays where it was.
#include "hostile/bombs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "media/decode_session.h"
#include "media/testing/worker_zygote.h"

namespace tessera::hostile {
namespace {

constexpr std::int64_t kGrowthMax = 5'000'000;  // bytes
constexpr int kModelSide = 448;                 // of what the server wants of an image

media::DecoderOptions workers() {
  media::DecoderOptions options;
  options.zygotes = {&media::testing::worker_zygote(TESSERA_MEDIA_WORKER),
                     &media::testing::worker_zygote(TESSERA_VIDEO_WORKER),
                     &media::testing::worker_zygote(TESSERA_HEIF_WORKER)};
  options.base_timeout = std::chrono::seconds(60);
  return options;
}

std::int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  ADD_FAILURE() << "no VmHWM";
  return 0;
}

/// Sets the peak to what is resident now, and gives it.
std::int64_t reset_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;
  return peak_bytes();
}

std::string outcome_of(const std::vector<EncodedMedia>& media,
                       const media::DecoderOptions& options) {
  auto session = media::DecodeSession::open(options, {}, media, {});
  if (!session) return session.error().reason;
  const auto probed = session->probe();
  std::vector<ImageSize> targets;
  if (probed) {
    for (const media::ProbedImage& image : *probed) {
      targets.push_back(
          {std::min(image.size.width, kModelSide), std::min(image.size.height, kModelSide)});
    }
  }
  const auto images =
      probed ? session->decode(targets) : Result<std::vector<Image>>(probed.error());
  EXPECT_EQ(session->death(), std::nullopt);
  return images ? "accepted" : images.error().reason;
}

void expect_harmless(const std::vector<Bomb>& bombs) {
  const auto options = workers();
  for (const Bomb& bomb : bombs) {
    SCOPED_TRACE(bomb.name);
    std::vector<EncodedMedia> media;
    media.push_back(media::testing::to_media(bomb.bytes));
    media.back().n_frames = bomb.n_frames;
    const std::int64_t before = reset_peak();

    const std::string outcome = outcome_of(media, options);

    EXPECT_LT(peak_bytes() - before, kGrowthMax);
    EXPECT_EQ(outcome, bomb.reason);
  }
}

TEST(Bombs, OfImagesStillMovingAndAvifAreRefusedAndCostTheServerNoMemory) {
  expect_harmless(image_bombs());
}

TEST(Bombs, OfVideoAreRefusedAndCostTheServerNoMemory) {
  expect_harmless(video_bombs());
}

TEST(Bombs, OfHeicAreRefusedAndCostTheServerNoMemory) {
  expect_harmless(heic_bombs());
}

}  // namespace
}  // namespace tessera::hostile
