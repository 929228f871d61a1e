#include "media/decoder_budget.h"

#include <gtest/gtest.h>

namespace tessera::media {
namespace {

using std::chrono::milliseconds;

ProbedImage probed(MediaFormat format, int n_shown, int n_passed) {
  return {format, {1000, 1000}, n_passed, n_shown, n_passed};
}

DecoderOptions options() {
  DecoderOptions options;
  options.base_timeout = milliseconds(1000);
  options.timeout_per_megapixel = milliseconds(100);
  return options;
}

TEST(DecoderBudget, GivesVideoAnAddressSpaceOfTwoGiBAndItsFile) {
  Limits limits;
  limits.video_bytes_max = 5 * kMiB;

  EXPECT_EQ(address_space_bytes(DecoderClass::kVideo, limits), 2053 * kMiB);
}

TEST(DecoderBudget, GivesPicturesMemoryByTheLargestThatIsAllowed) {
  Limits small;
  small.image_pixels_max = 1'000'000;

  for (const DecoderClass one : {DecoderClass::kImage, DecoderClass::kHeif}) {
    EXPECT_GT(address_space_bytes(one, Limits{}), address_space_bytes(one, small) + 800 * kMiB);
    EXPECT_LT(address_space_bytes(one, Limits{}), 1536 * kMiB);
  }
}

TEST(DecoderBudget, GrowsWithThePixelsThatDecodingGoesThrough) {
  const auto time = [](MediaFormat format, int n_shown, int n_passed) {
    const ProbedImage one = probed(format, n_shown, n_passed);
    return decode_time(options(), {&one, 1});
  };

  // (megapixels + 1) · 100 ms for images; video passes ten times as fast, and is shown as slowly.
  EXPECT_EQ(time(MediaFormat::kPng, 1, 1), milliseconds(1200));
  EXPECT_EQ(time(MediaFormat::kGif, 1, 9), milliseconds(2000));
  EXPECT_EQ(time(MediaFormat::kVideo, 1, 99), milliseconds(2200));
  EXPECT_EQ(time(MediaFormat::kVideo, 9, 99), milliseconds(3000));
  EXPECT_EQ(time(MediaFormat::kHeic, 1, 1), milliseconds(1800));
}

TEST(DecoderBudget, KeepsTheVideoOfOneRequestBelowAboutAMinute) {
  const auto cpu = cpu_seconds(DecoderClass::kVideo, DecoderOptions{}, Limits{});

  EXPECT_GE(cpu, 60U);
  EXPECT_LE(cpu, 80U);
}

TEST(DecoderBudget, GivesEachClassAtLeastTheProcessorThatTheWallClockAllows) {
  const Limits limits;
  const ProbedImage image{MediaFormat::kJpeg, {12'000, 10'000}, 1, 1, 1};
  const ProbedImage heic{MediaFormat::kHeic, {12'000, 10'000}, 1, 1, 1};
  const auto seconds_of = [](const ProbedImage& one) {
    return std::chrono::duration<double>(decode_time(DecoderOptions{}, {&one, 1})).count();
  };

  EXPECT_GE(static_cast<double>(cpu_seconds(DecoderClass::kImage, DecoderOptions{}, limits)),
            seconds_of(image));
  EXPECT_GE(static_cast<double>(cpu_seconds(DecoderClass::kHeif, DecoderOptions{}, limits)),
            seconds_of(heic));
}

}  // namespace
}  // namespace tessera::media
