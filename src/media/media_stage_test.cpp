#include "media/media_stage.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <future>
#include <thread>

#include "core/token_stream.h"
#include "media/testing/encode_images.h"
#include "media/testing/worker_zygote.h"

namespace tessera::media {
namespace {

using testing::encode_png;
using testing::gradient;
using testing::to_media;

/// One stage of one thread; its hooks note what they were given.
class MediaStageTest : public ::testing::Test {
 protected:
  MediaStageTest() {
    options_.decoder.zygotes.image = &testing::worker_zygote(TESSERA_MEDIA_WORKER);
    options_.decoder.base_timeout = std::chrono::seconds(60);
    options_.n_threads = 1;
    options_.queue_capacity = 4;
    hooks_.plan = [this](InFlight&, std::span<const ImageSize> sizes) {
      planned_.assign(sizes.begin(), sizes.end());
      return Result<std::vector<ImageSize>>(targets_.empty() ? planned_ : targets_);
    };
    hooks_.prepare = [this](InFlight&, std::size_t, const Image& image) -> Result<void> {
      prepared_.push_back(image.size);
      return {};
    };
    hooks_.next = [this](std::unique_ptr<InFlight> request) {
      done_.set_value(std::move(request));
    };
  }

  ~MediaStageTest() override { std::filesystem::remove_all(folder_); }

  /// @param mode  of fake_worker_main.cpp
  void use_fake_worker(const std::string& mode) {
    std::filesystem::create_directories(folder_);
    std::filesystem::create_symlink(TESSERA_MEDIA_FAKE_WORKER, folder_ / mode);
    options_.decoder.zygotes.image = &testing::worker_zygote(folder_ / mode);
  }

  void start() { stage_ = std::make_unique<MediaStage>(options_, clock_, hooks_); }

  std::unique_ptr<InFlight> request(std::vector<ImageSize> sizes, const Limits& limits = {}) {
    Request request;
    for (const ImageSize size : sizes)
      request.media.push_back(to_media(encode_png(gradient(size))));
    return std::make_unique<InFlight>(RequestId{1}, TenantId{0}, std::move(request), limits,
                                      Trace(clock_.now()), clock_.now() + std::chrono::hours(1),
                                      stop_.get_token(), stream_);
  }

  std::optional<Error> terminal_error() { return std::get<StreamEnd>(*stream_->pop({})).error; }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("stage-" + std::to_string(::getpid()));
  SteadyClock clock_;
  std::stop_source stop_;
  std::shared_ptr<TokenStream> stream_ = std::make_shared<TokenStream>(stop_);
  std::vector<ImageSize> planned_;
  std::vector<ImageSize> targets_;  // what the plan asks for; empty = full size
  std::vector<ImageSize> prepared_;
  std::promise<std::unique_ptr<InFlight>> done_;
  MediaStageOptions options_;
  MediaHooks hooks_;
  std::unique_ptr<MediaStage> stage_;
};

TEST_F(MediaStageTest, PlansFromSizesThenPreparesEachImageInOrder) {
  start();

  ASSERT_TRUE(stage_->try_submit(request({{20, 10}, {5, 40}})));
  const auto served = done_.get_future().get();

  EXPECT_EQ(planned_, (std::vector<ImageSize>{{20, 10}, {5, 40}}));
  EXPECT_EQ(prepared_, planned_);
  EXPECT_TRUE(served->request.media.empty());
  EXPECT_GT(served->trace.in(Stage::kMediaDecode), Duration{});
  served->end(std::nullopt, clock_.now());
}

TEST_F(MediaStageTest, PreparesPixelsOfThePlannedSize) {
  targets_ = {{10, 5}, {5, 40}};
  start();

  ASSERT_TRUE(stage_->try_submit(request({{20, 10}, {5, 40}})));
  const auto served = done_.get_future().get();

  EXPECT_EQ(prepared_, targets_);
  served->end(std::nullopt, clock_.now());
}

TEST_F(MediaStageTest, FramesAreImagesThatFollowEachOther) {
  testing::GifOptions gif;
  gif.palette_rgb = {0, 0, 0, 255, 255, 255};
  gif.n_frames = 5;
  auto moving = request({{20, 10}, {8, 8}, {5, 40}});
  moving->request.media[1] = to_media(encode_gif({{6, 4}, testing::ByteVector(24)}, gif));
  moving->request.media[1].n_frames = 2;
  moving->request.messages.push_back(
      {Role::kUser, {ImagePart{0}, ImagePart{1}, TextPart{"and"}, ImagePart{2}}});
  targets_ = {{10, 5}, {3, 2}, {3, 2}, {5, 40}};
  start();

  ASSERT_TRUE(stage_->try_submit(std::move(moving)));
  const auto served = done_.get_future().get();

  EXPECT_EQ(planned_, (std::vector<ImageSize>{{20, 10}, {6, 4}, {6, 4}, {5, 40}}));
  EXPECT_EQ(prepared_, targets_);
  EXPECT_EQ(served->request.messages[0].parts.size(), 5U);
  served->end(std::nullopt, clock_.now());
}

TEST_F(MediaStageTest, WhatIsKnownNeedsNoDecoder) {
  std::vector<bool> needed{true, true};
  int n_decoded = 0;
  hooks_.find_features = [&needed](InFlight&) { return needed; };
  hooks_.on_decoded = [&n_decoded](const std::optional<Error>&) { ++n_decoded; };
  start();
  const auto serve = [this] {
    done_ = {};
    prepared_.clear();
    EXPECT_TRUE(stage_->try_submit(request({{20, 10}, {5, 40}})));
    const auto served = done_.get_future().get();
    EXPECT_EQ(served->frames.size(), 2U);
    EXPECT_NE(served->frames[0].content, served->frames[1].content);
    served->end(std::nullopt, clock_.now());
    EXPECT_FALSE(terminal_error());
  };
  serve();
  EXPECT_EQ(prepared_.size(), 2U);

  needed = {false, true};
  serve();
  EXPECT_EQ(prepared_, (std::vector<ImageSize>{{5, 40}})) << "of two, the one that is needed";

  needed = {false, false};
  stage_.reset();
  options_.decoder.zygotes.image = nullptr;  // records are the stage's: none here
  start();
  EXPECT_TRUE(stage_->try_submit(request({{20, 10}, {5, 40}})));
  EXPECT_EQ(terminal_error()->reason, "media_worker_unavailable");
  EXPECT_EQ(n_decoded, 2);
}

TEST_F(MediaStageTest, RecordsObeyTheLimitsOfEachRequest) {
  hooks_.find_features = [](InFlight&) { return std::vector<bool>(1, false); };
  start();
  ASSERT_TRUE(stage_->try_submit(request({{20, 10}})));
  done_.get_future().get()->end(std::nullopt, clock_.now());
  EXPECT_FALSE(terminal_error());
  Limits lower;
  lower.image_side_max = 19;

  ASSERT_TRUE(stage_->try_submit(request({{20, 10}}, lower)));

  EXPECT_EQ(terminal_error()->reason, "image_side_too_large");
}

TEST_F(MediaStageTest, ARefusedImageNamesItsField) {
  start();
  auto two = request({{20, 10}, {8, 8}});
  two->request.media[1] = to_media(testing::ByteVector(100, 7));
  two->request.media[1].field = "messages[0].content[1].image_url.url";

  ASSERT_TRUE(stage_->try_submit(std::move(two)));

  const auto error = terminal_error();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->reason, "image_format_unsupported");
  EXPECT_EQ(error->param, "messages[0].content[1].image_url.url");
}

TEST_F(MediaStageTest, AFileThatStoppedADecoderIsRefusedTheSecondTime) {
  use_fake_worker("probe_die");
  int n_deaths = 0;
  hooks_.on_death = [&n_deaths](DecoderClass decoder_class, DecoderDeath) {
    n_deaths += decoder_class == DecoderClass::kImage ? 1 : 0;
  };
  start();
  auto same = [this] { return request({{20, 10}}); };

  ASSERT_TRUE(stage_->try_submit(same()));
  EXPECT_EQ(terminal_error()->message, "image 1: the decoder stopped");
  ASSERT_TRUE(stage_->try_submit(same()));
  EXPECT_EQ(terminal_error()->message,
            "image 1: this file stopped the decoder before and is refused for 10 minutes");
  stage_->shutdown();
  EXPECT_EQ(n_deaths, 1);
}

TEST_F(MediaStageTest, ADamagedFileTakesADecodersTimeOnce) {
  int n_decoded = 0;
  hooks_.on_decoded = [&n_decoded](const std::optional<Error>&) { ++n_decoded; };
  start();
  // Its header is whole, the end of its pixels is not.
  const auto damaged = [this] {
    auto two = request({{8, 8}, {20, 10}});
    testing::ByteVector bytes = encode_png(gradient({20, 10}));
    bytes.resize(bytes.size() - 40);
    two->request.media[1] = to_media(bytes);
    two->request.media[1].field = "messages[0].content[1].image_url.url";
    return two;
  };

  ASSERT_TRUE(stage_->try_submit(damaged()));
  const auto first = terminal_error();
  ASSERT_TRUE(stage_->try_submit(damaged()));
  const auto second = terminal_error();

  EXPECT_EQ(first->message, "image 2: the file is truncated or corrupt");
  EXPECT_EQ(second->message,
            "image 2: this file could not be decoded before and is refused for 10 minutes");
  EXPECT_EQ(second->reason, first->reason);
  EXPECT_EQ(second->param, first->param);
  stage_->shutdown();
  EXPECT_EQ(n_decoded, 1);
}

TEST_F(MediaStageTest, RefusedPlanEndsTheRequestBeforeAnyPixelIsDecoded) {
  hooks_.plan = [](InFlight&, std::span<const ImageSize>) -> Result<std::vector<ImageSize>> {
    return make_error(ErrorCode::kTooLarge, "visual_tokens_exceeded", "too many");
  };
  bool decoded = false;
  hooks_.on_decoded = [&decoded](const std::optional<Error>&) { decoded = true; };
  start();

  ASSERT_TRUE(stage_->try_submit(request({{20, 10}})));

  EXPECT_EQ(terminal_error()->reason, "visual_tokens_exceeded");
  stage_->shutdown();
  EXPECT_FALSE(decoded);
}

TEST_F(MediaStageTest, WorkerThatCannotBeStartedIsTheRequestsError) {
  options_.decoder.zygotes.image = nullptr;
  start();

  ASSERT_TRUE(stage_->try_submit(request({{20, 10}})));

  EXPECT_EQ(terminal_error()->code, ErrorCode::kUnavailable);
}

TEST_F(MediaStageTest, CancellationKillsAWorkerThatHangs) {
  options_.decoder.zygotes.image = &testing::worker_zygote(TESSERA_MEDIA_FAKE_WORKER);
  start();
  ASSERT_TRUE(stage_->try_submit(request({{20, 10}})));

  stop_.request_stop();

  EXPECT_TRUE(terminal_error().has_value());
}

TEST_F(MediaStageTest, ShutdownEndsWhatRunsAndWhatIsQueued) {
  use_fake_worker("probe_hang");
  start();
  ASSERT_TRUE(stage_->try_submit(request({{8, 8}})));
  ASSERT_TRUE(stage_->try_submit(request({{8, 8}})));
  while (stage_->queue_depth() > 1) std::this_thread::yield();

  stage_->shutdown();

  EXPECT_EQ(terminal_error()->code, ErrorCode::kUnavailable);
  EXPECT_EQ(terminal_error()->code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace tessera::media
