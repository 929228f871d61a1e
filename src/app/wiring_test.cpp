#include "app/wiring.h"

#include <gtest/gtest.h>

#include "cache/test_folder.h"
#include "fetch/outcome_name.h"
#include "metrics/metric_table.h"

namespace tessera::app {
namespace {

TEST(Wiring, BundledModelIsTheDefault) {
  const auto settings = read_settings({});

  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->values.model_path.ends_with("tessera-tiny-f16.gguf"));
  EXPECT_TRUE(settings->values.mmproj_path.ends_with("mmproj-tessera-tiny-f16.gguf"));
}

TEST(Wiring, ByDefaultNothingIsFetchedOrReadAndFilesMayBeUploaded) {
  SteadyClock clock;
  metrics::Metrics metrics(build_info());

  const auto sources = open_media_sources({}, clock, metrics);

  ASSERT_TRUE(sources);
  EXPECT_EQ(sources->fetcher, nullptr);
  EXPECT_FALSE(sources->root);
  EXPECT_NE(sources->uploads, nullptr);
}

TEST(Wiring, SourcesThatCannotBeOpenedAreNamed) {
  SteadyClock clock;
  metrics::Metrics metrics(build_info());
  cli::Settings no_folder;
  no_folder.media_root = "/nonexistent/folder";
  cli::Settings no_domain;
  no_domain.allow_remote_media = true;
  no_domain.remote_media_domains = "cdn.example.com, ,x";
  cli::Settings no_program;  // the test program has no fetcher beside it
  no_program.allow_remote_media = true;
  no_program.remote_media_domains = "cdn.example.com, *.example.org";

  EXPECT_EQ(open_media_sources(no_folder, clock, metrics).error().reason, "media_root_not_found");
  EXPECT_EQ(open_media_sources(no_domain, clock, metrics).error().reason, "remote_domain_invalid");
  EXPECT_EQ(open_media_sources(no_program, clock, metrics).error().reason, "fetcher_not_found");
}

TEST(Wiring, MetricsKnowEveryOutcomeOfAFetch) {
  const auto known = metrics::fetch_outcome_values();
  ASSERT_EQ(known.size(), fetch::wire::kOutcomeCount);
  for (std::uint32_t i = 0; i < fetch::wire::kOutcomeCount; ++i) {
    EXPECT_EQ(known[i], fetch::outcome_name(static_cast<fetch::wire::Outcome>(i)));
  }
}

TEST(Wiring, FeaturesAreOnDiskOnlyWithAFolderAndAnEncoder) {
  const cache::TestFolder folder;
  cli::Settings settings = read_settings({})->values;
  EXPECT_FALSE(*open_weights(settings));
  EXPECT_EQ(open_feature_disk(settings, *open_weights(settings), {}, "a build")->tier, nullptr);

  settings.cache_dir = folder.path() / "features";
  const auto disk = open_feature_disk(settings, *open_weights(settings), {}, "a build");
  ASSERT_TRUE(disk) << disk.error().message;
  EXPECT_NE(disk->tier, nullptr);
  EXPECT_NE(disk->encoder.find(build_info().runtime), std::string::npos);
  EXPECT_EQ(open_feature_disk(settings, *open_weights(settings), {}, "a build").error().reason,
            "cache_dir_in_use");

  settings.mmproj_path.clear();
  EXPECT_FALSE(*open_weights(settings)) << "a model of text has no features";
  settings.mmproj_path = folder.path() / "nothing";
  EXPECT_EQ(open_weights(settings).error().reason, "weights_unreadable");
}

TEST(Wiring, TheEncoderIsNamedByItsWeights) {
  const cache::TestFolder folder;
  cli::Settings settings;
  settings.mmproj_path = folder.path() / "mmproj";
  const auto encoder_of = [&](const std::string& content, const std::string& name) {
    cache::write_file(settings.mmproj_path, content);
    settings.cache_dir = folder.path() / name;
    return open_feature_disk(settings, *open_weights(settings), {}, "a build")->encoder;
  };

  EXPECT_EQ(encoder_of("abc", "1"), encoder_of("abc", "2"));
  EXPECT_NE(encoder_of("abc", "3"), encoder_of("abd", "4"));
  EXPECT_NE(encoder_of("abc", "5").find("a build"), std::string::npos);
}

TEST(Wiring, VersionNamesTheRuntime) {
  EXPECT_NE(version_text(false).find("runtime: "), std::string::npos);
  EXPECT_EQ(version_text(true).front(), '{');
}

}  // namespace
}  // namespace tessera::app
