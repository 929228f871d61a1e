#include "media/codecs/serve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>

#include "media/testing/encode_images.h"
#include "media/validate.h"
#include "sandbox/memfd.h"

namespace tessera::media {
namespace {

using sandbox::Channel;
using sandbox::IoStatus;
using testing::encode_png;
using testing::gradient;
using testing::to_media;

/// serve() on a thread of its own; the test plays the server's half.
class Serve : public ::testing::Test {
 protected:
  Serve() : ends_(std::move(Channel::make_pair()).value()) {}

  Channel& client() { return ends_.first; }

  void start(LockDown lock_down = [](const wire::OpenRequest&) { return Result<void>(); }) {
    worker_ = std::jthread([this, lock_down = std::move(lock_down)] {
      exit_code_ = serve(ends_.second, image_decoder(), lock_down);
      ends_.second.close();  // as the end of the process would
    });
  }

  /// Closes our end and waits for serve to return.
  int finish() {
    client().close();
    worker_.join();
    return exit_code_;
  }

  static wire::OpenRequest request_of(const EncodedMedia& media) {
    wire::OpenRequest request;
    request.limits = image_limits(Limits{});
    request.n_items = 1;
    request.size_bytes[0] = media.size_bytes;
    request.n_frames_wanted[0] = 1;
    return request;
  }

 private:
  std::pair<Channel, Channel> ends_;
  int exit_code_ = -1;
  std::jthread worker_;
};

TEST_F(Serve, ProbesThenDecodesIntoTheGivenOutput) {
  const auto picture = gradient({6, 4});
  const auto media = to_media(encode_png(picture));
  const auto output = std::move(sandbox::create_memfd("out", picture.bytes.size())).value();
  start();

  ASSERT_EQ(client().send(request_of(media), std::array{media.fd.get()}), IoStatus::kOk);
  const auto probed = client().receive<wire::ProbeReply>(0);
  wire::DecodePlan plan;
  plan.target_width = 6;
  plan.target_height = 4;
  plan.n_frames = 1;
  ASSERT_EQ(client().send(plan, std::array{output.get()}), IoStatus::kOk);
  const auto decoded = client().receive<wire::DecodeReply>(0);

  ASSERT_TRUE(validate_probe(probed.message, {0}, 1, image_limits(Limits{})));
  ASSERT_TRUE(validate_decoded(decoded.message, {0}, plan, image_limits(Limits{})));
  const auto pixels = sandbox::MappedRegion::map_readonly(output.get(), picture.bytes.size());
  EXPECT_TRUE(std::ranges::equal(pixels->bytes(), picture.bytes));
  EXPECT_EQ(finish(), 0);
}

TEST_F(Serve, CountsFramesAndDecodesThoseThatAreAskedFor) {
  testing::GifOptions options;
  options.palette_rgb = {0, 0, 0, 255, 255, 255};
  options.n_frames = 5;  // the first white, then black
  const testing::Raster white{{6, 4}, testing::ByteVector(24, 1)};
  const auto media = to_media(encode_gif(white, options));
  constexpr std::size_t kFrameBytes = std::size_t{6} * 4 * 3;
  const auto output = std::move(sandbox::create_memfd("out", 2 * kFrameBytes)).value();
  auto request = request_of(media);
  request.n_frames_wanted[0] = 2;
  start();

  ASSERT_EQ(client().send(request, std::array{media.fd.get()}), IoStatus::kOk);
  const auto probed = client().receive<wire::ProbeReply>(0);
  wire::DecodePlan plan;
  plan.target_width = 6;
  plan.target_height = 4;
  plan.n_frames = 2;
  plan.frames[1] = 4;
  ASSERT_EQ(client().send(plan, std::array{output.get()}), IoStatus::kOk);
  const auto decoded = client().receive<wire::DecodeReply>(0);

  EXPECT_EQ(probed.message.n_frames, 5);
  ASSERT_TRUE(validate_decoded(decoded.message, {0}, plan, image_limits(Limits{})));
  const auto pixels = sandbox::MappedRegion::map_readonly(output.get(), 2 * kFrameBytes);
  EXPECT_EQ(pixels->bytes()[kFrameBytes - 1], 255);
  EXPECT_EQ(pixels->bytes()[kFrameBytes], 0);
  EXPECT_EQ(finish(), 0);
}

TEST_F(Serve, LocksDownBeforeItReadsAnyFile) {
  const auto media = to_media(encode_png(gradient({6, 4})));
  start([](const wire::OpenRequest&) -> Result<void> {
    return make_error(ErrorCode::kUnavailable, "refused", "by the test");
  });

  ASSERT_EQ(client().send(request_of(media), std::array{media.fd.get()}), IoStatus::kOk);

  EXPECT_EQ(client().receive<wire::ProbeReply>(0).status, IoStatus::kClosed);
  EXPECT_NE(finish(), 0);
}

TEST_F(Serve, RefusesARequestWhoseCountsDisagree) {
  const auto media = to_media(encode_png(gradient({6, 4})));
  auto request = request_of(media);
  request.n_items = 2;
  start();

  ASSERT_EQ(client().send(request, std::array{media.fd.get()}), IoStatus::kOk);

  EXPECT_EQ(client().receive<wire::ProbeReply>(0).status, IoStatus::kClosed);
  EXPECT_NE(finish(), 0);
}

TEST_F(Serve, RefusesAnotherVersion) {
  const auto media = to_media(encode_png(gradient({6, 4})));
  auto request = request_of(media);
  ++request.header.version;
  start();

  ASSERT_EQ(client().send(request, std::array{media.fd.get()}), IoStatus::kOk);

  EXPECT_NE(finish(), 0);
}

TEST_F(Serve, RefusesPlansThatDoNotFit) {
  const auto media = to_media(encode_png(gradient({6, 4})));
  const auto small = std::move(sandbox::create_memfd("out", 6 * 4 * 3 - 1)).value();
  start();
  ASSERT_EQ(client().send(request_of(media), std::array{media.fd.get()}), IoStatus::kOk);
  ASSERT_EQ(client().receive<wire::ProbeReply>(0).status, IoStatus::kOk);
  const auto error_for = [&](std::uint32_t index, int width, int height, bool with_output,
                             std::uint32_t n_frames = 1) {
    wire::DecodePlan plan;
    plan.header.index = index;
    plan.target_width = width;
    plan.target_height = height;
    plan.n_frames = n_frames;
    const std::array fds{small.get()};
    EXPECT_EQ(client().send(plan, std::span(fds).first(with_output ? 1 : 0)), IoStatus::kOk);
    return client().receive<wire::DecodeReply>(0).message.error;
  };

  EXPECT_EQ(error_for(0, 6, 4, true), wire::MediaError::kWorkerFailed) << "output too small";
  EXPECT_EQ(error_for(0, 6, 4, false), wire::MediaError::kWorkerFailed) << "no output";
  EXPECT_EQ(error_for(1, 6, 4, true), wire::MediaError::kWorkerFailed) << "no such item";
  EXPECT_EQ(error_for(0, 7, 2, true), wire::MediaError::kWorkerFailed) << "wider than the image";
  EXPECT_EQ(error_for(0, -1, 4, true), wire::MediaError::kWorkerFailed) << "no size";
  EXPECT_EQ(error_for(0, 1, 1, true, 0), wire::MediaError::kWorkerFailed) << "no frame";
  EXPECT_EQ(error_for(0, 1, 1, true, 2), wire::MediaError::kWorkerFailed) << "frames of a still";
  EXPECT_EQ(error_for(0, 1, 1, true, wire::kFramesMax + 1), wire::MediaError::kWorkerFailed);
  EXPECT_EQ(finish(), 0);
}

TEST_F(Serve, EndsQuietlyWhenNobodyAsksAnything) {
  start();

  EXPECT_EQ(finish(), 0);
}

}  // namespace
}  // namespace tessera::media
