#include "app/wiring.h"

#include <gtest/gtest.h>

namespace tessera::app {
namespace {

TEST(Wiring, BundledModelIsTheDefault) {
  const auto settings = read_settings({});

  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->values.model_path.ends_with("tessera-tiny-f16.gguf"));
  EXPECT_TRUE(settings->values.mmproj_path.ends_with("mmproj-tessera-tiny-f16.gguf"));
}

TEST(Wiring, MissingMediaWorkerIsNamed) {
  cli::Settings settings;
  settings.media_worker_path = "/nonexistent/worker";
  SteadyClock clock;
  metrics::Metrics metrics(build_info());

  const auto worker = start_media_worker(settings, clock, metrics);

  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().reason, "media_worker_not_found");
}

TEST(Wiring, LevelOfTheMediaWorkerIsAMetric) {
  cli::Settings settings;
  settings.media_worker_path = TESSERA_MEDIA_WORKER;
  SteadyClock clock;
  metrics::Metrics metrics(build_info());

  const auto worker = start_media_worker(settings, clock, metrics);

  ASSERT_TRUE(worker) << worker.error().message;
  const std::string level(sandbox::to_string((*worker)->level()));
  EXPECT_NE(metrics.expose().find("tessera_sandbox_level{level=\"" + level + "\"} 1"),
            std::string::npos);
}

TEST(Wiring, VersionNamesTheRuntime) {
  EXPECT_NE(version_text(false).find("runtime: "), std::string::npos);
  EXPECT_EQ(version_text(true).front(), '{');
}

}  // namespace
}  // namespace tessera::app
