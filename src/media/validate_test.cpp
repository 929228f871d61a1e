#include "media/validate.h"

#include <gtest/gtest.h>

#include <climits>

namespace tessera::media {
namespace {

using wire::MediaError;

const wire::ImageLimits kLimits = image_limits(Limits{});
constexpr std::size_t kIndex = 2;  // "image 3"

wire::ProbeReply sound_probe() {
  wire::ProbeReply reply;
  reply.header.index = kIndex;
  reply.format = MediaFormat::kPng;
  reply.width = 640;
  reply.height = 480;
  reply.n_scans = 1;
  reply.n_frames = 1;
  reply.n_passed = 1;
  return reply;
}

wire::DecodeReply sound_decode() {
  wire::DecodeReply reply;
  reply.header.index = kIndex;
  reply.width = 640;
  reply.height = 480;
  reply.n_channels = 3;
  reply.row_bytes = 640 * 3;
  reply.n_frames = 2;
  return reply;
}

wire::DecodePlan plan() {
  wire::DecodePlan plan;
  plan.header.index = kIndex;
  plan.target_width = 640;
  plan.target_height = 480;
  plan.n_frames = 2;
  plan.frames[1] = 7;
  return plan;
}

std::string reason_of(const wire::ProbeReply& reply) {
  const auto result = validate_probe(reply, {kIndex}, 1, kLimits);
  return result ? "accepted" : result.error().reason;
}

std::string reason_of(const wire::DecodeReply& reply) {
  const auto result = validate_decoded(reply, {kIndex}, plan(), kLimits);
  return result ? "accepted" : result.error().reason;
}

TEST(CheckSize, AcceptsUpToEachLimitAndRefusesBeyond) {
  EXPECT_EQ(check_size({1, 1}, kLimits), MediaError::kNone);
  EXPECT_EQ(check_size({8000, 5000}, kLimits), MediaError::kNone);
  EXPECT_EQ(check_size({8001, 5000}, kLimits), MediaError::kPixelsTooMany);
  EXPECT_EQ(check_size({16384, 2000}, kLimits), MediaError::kNone);
  EXPECT_EQ(check_size({16385, 2000}, kLimits), MediaError::kSideTooLarge);
  EXPECT_EQ(check_size({20, 4000}, kLimits), MediaError::kNone);
  EXPECT_EQ(check_size({20, 4001}, kLimits), MediaError::kAspectTooLarge);
  EXPECT_EQ(check_size({4000, 1}, kLimits), MediaError::kAspectTooLarge);
}

TEST(CheckSize, RefusesSidesBelowOneAndSurvivesExtremes) {
  wire::ImageLimits open = kLimits;
  open.pixels_max = INT64_MAX;
  open.side_max = open.aspect_max = INT_MAX;

  EXPECT_EQ(check_size({0, 5}, open), MediaError::kInvalid);
  EXPECT_EQ(check_size({5, -1}, open), MediaError::kInvalid);
  EXPECT_EQ(check_size({INT_MIN, INT_MIN}, open), MediaError::kInvalid);
  EXPECT_EQ(check_size({INT_MAX, INT_MAX}, open), MediaError::kNone);
  open.pixels_max = 1;
  EXPECT_EQ(check_size({INT_MAX, INT_MAX}, open), MediaError::kPixelsTooMany);
}

TEST(CheckScans, BoundsScansAndPixelsTimesScans) {
  EXPECT_EQ(check_scans({8000, 5000}, 32, kLimits), MediaError::kNone);
  EXPECT_EQ(check_scans({1, 1}, 33, kLimits), MediaError::kScansTooMany);
  EXPECT_EQ(check_scans({10'000, 10'000}, 13, kLimits), MediaError::kNone);
  EXPECT_EQ(check_scans({10'000, 10'000}, 14, kLimits), MediaError::kScansTooMany);
  EXPECT_EQ(check_scans({INT_MAX, INT_MAX}, 32, kLimits), MediaError::kScansTooMany);
  wire::ImageLimits open = kLimits;
  open.scans_max = INT_MAX;
  EXPECT_EQ(check_scans({INT_MAX, INT_MAX}, INT_MAX, open), MediaError::kScansTooMany);
}

TEST(ValidateProbe, AcceptsASoundReply) {
  const auto image = validate_probe(sound_probe(), {kIndex}, 1, kLimits);

  ASSERT_TRUE(image);
  EXPECT_EQ(image->format, MediaFormat::kPng);
  EXPECT_EQ(image->size, (ImageSize{640, 480}));
}

TEST(ValidateProbe, RefusesEveryFieldThatLies) {
  const auto with = [](auto change) {
    wire::ProbeReply reply = sound_probe();
    change(reply);
    return reason_of(reply);
  };

  EXPECT_EQ(with([](auto& r) { r.header.index = 1; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.header.version = 9; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.header.kind = wire::Kind::kDecoded; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.error = MediaError{wire::kMediaErrorCount}; }),
            "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.format = MediaFormat{0}; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.n_scans = 0; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.n_scans = INT_MIN; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.n_scans = INT_MAX; }), "image_scans_too_many");
  EXPECT_EQ(with([](auto& r) { r.n_frames = 0; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.n_frames = INT_MIN; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.n_frames = 2; }), "media_decoder_failed") << "nobody asked";
  EXPECT_EQ(with([](auto& r) { r.width = 0; }), "image_invalid");
  EXPECT_EQ(with([](auto& r) { r.height = INT_MIN; }), "image_invalid");
  EXPECT_EQ(with([](auto& r) { r.width = r.height = INT_MAX; }), "image_side_too_large");
  EXPECT_EQ(with([](auto& r) { r.width = r.height = 9000; }), "image_too_large");
}

TEST(ValidateProbe, TakesAsManyFramesAsAFileMayHave) {
  wire::ProbeReply reply = sound_probe();
  reply.n_frames = kLimits.frames_max;
  const auto most = validate_probe(reply, {kIndex}, 2, kLimits);
  ++reply.n_frames;
  const auto too_many = validate_probe(reply, {kIndex}, 2, kLimits);

  ASSERT_TRUE(most);
  EXPECT_EQ(most->n_frames, kLimits.frames_max);
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().reason, "media_decoder_failed");
}

TEST(ValidateProbe, NamesTheImageTheValueAndTheLimit) {
  wire::ProbeReply reply = sound_probe();
  reply.width = reply.height = 9000;

  EXPECT_EQ(validate_probe(reply, {kIndex}, 1, kLimits).error().message,
            "image 3: 9000×9000 pixels exceed 40000000");
}

TEST(ValidateDecoded, AcceptsWhatWasPlanned) {
  EXPECT_EQ(reason_of(sound_decode()), "accepted");
}

TEST(ValidateDecoded, RefusesEveryFieldThatLies) {
  const auto with = [](auto change) {
    wire::DecodeReply reply = sound_decode();
    change(reply);
    return reason_of(reply);
  };

  EXPECT_EQ(with([](auto& r) { r.header.index = UINT32_MAX; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.header.kind = wire::Kind::kProbed; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.error = MediaError{UINT32_MAX}; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.width = 641; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { std::swap(r.width, r.height); }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.n_channels = 4; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.row_bytes = UINT64_MAX; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.n_frames = 1; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.n_frames = UINT32_MAX; }), "media_decoder_failed");
  EXPECT_EQ(with([](auto& r) { r.error = MediaError::kInvalid; }), "image_invalid");
}

TEST(Refusal, SaysWhatToDoNextForEveryError) {
  for (std::uint32_t i = 1; i < wire::kMediaErrorCount; ++i) {
    wire::ProbeReply found;
    found.width = 20'000;
    found.height = 10;
    found.n_scans = 40;
    const Error error = refusal(MediaError{i}, {0}, found, kLimits);

    EXPECT_NE(error.code, ErrorCode::kInternal);
    EXPECT_TRUE(error.message.starts_with("image 1: ")) << error.message;
  }
}

TEST(RgbBytes, CountsThreeChannelsWithoutOverflow) {
  EXPECT_EQ(rgb_bytes({65'535, 65'535}), std::size_t{65'535} * 65'535 * 3);
}

}  // namespace
}  // namespace tessera::media
