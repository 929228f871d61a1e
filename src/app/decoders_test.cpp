#include "app/decoders.h"

#include <gtest/gtest.h>

#include "app/wiring.h"

namespace tessera::app {
namespace {

class DecodersTest : public testing::Test {
 protected:
  DecodersTest() : metrics_(build_info()) { settings_.media_worker_path = TESSERA_MEDIA_WORKER; }

  Result<Decoders> start() {
    TSR_ASSIGN_OR_RETURN(StartingDecoders starting, begin_decoders(settings_));
    return finish_decoders(std::move(starting), clock_, metrics_);
  }

  cli::Settings settings_;
  SteadyClock clock_;
  metrics::Metrics metrics_;
};

TEST_F(DecodersTest, AMissingProgramIsNamed) {
  settings_.media_worker_path = "/nonexistent/worker";

  const auto decoders = start();

  ASSERT_FALSE(decoders);
  EXPECT_EQ(decoders.error().reason, "media_worker_not_found");
}

TEST_F(DecodersTest, TheirLevelIsAMetric) {
  const auto decoders = start();

  ASSERT_TRUE(decoders) << decoders.error().message;
  const std::string level(sandbox::to_string(decoders->level()));
  EXPECT_NE(metrics_.expose().find("tessera_sandbox_level{level=\"" + level + "\"} 1"),
            std::string::npos);
}

TEST_F(DecodersTest, OnlyTheClassesThatTheSettingsAllowAreStarted) {
  const auto by_default = start();
  settings_.allow_video = false;
  const auto images_only = start();

  ASSERT_TRUE(by_default && images_only);
  EXPECT_NE(by_default->image, nullptr);
  EXPECT_NE(by_default->video, nullptr);
  EXPECT_EQ(by_default->heif, nullptr);
  EXPECT_NE(images_only->image, nullptr);
  EXPECT_EQ(images_only->video, nullptr);
}

TEST_F(DecodersTest, LendWhatTheyOwn) {
  const auto decoders = start();

  ASSERT_TRUE(decoders);
  EXPECT_EQ(decoders->zygotes().image, decoders->image.get());
  EXPECT_EQ(decoders->zygotes().video, decoders->video.get());
  EXPECT_EQ(decoders->zygotes().heif, nullptr);
}

}  // namespace
}  // namespace tessera::app
