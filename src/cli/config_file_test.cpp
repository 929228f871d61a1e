#include "cli/config_file.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(ConfigFile, GivesEachSettingWithItsLine) {
  const auto settings = parse_config_file({"t.toml", R"(# a comment
port = 8_081

[limits]
image_bytes_max = "3MiB"
)"});

  ASSERT_TRUE(settings) << settings.error().message;
  ASSERT_EQ(settings->size(), 2U);
  EXPECT_EQ((*settings)[0].setting->key, "limits.image_bytes_max");
  EXPECT_EQ((*settings)[0].text, "3MiB");
  EXPECT_EQ((*settings)[0].line, 5);
  EXPECT_EQ((*settings)[1].setting->key, "port");
  EXPECT_EQ((*settings)[1].text, "8081");
  EXPECT_EQ((*settings)[1].line, 2);
}

TEST(ConfigFile, DottedKeysAreTheSameAsATable) {
  const auto settings = parse_config_file({"t.toml", "limits.images_max = 2\n"});

  ASSERT_TRUE(settings) << settings.error().message;
  ASSERT_EQ(settings->size(), 1U);
  EXPECT_EQ((*settings)[0].setting->key, "limits.images_max");
}

TEST(ConfigFile, MayBeEmpty) {
  const auto settings = parse_config_file({"t.toml", ""});

  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->empty());
}

TEST(ConfigFile, BooleansAreForSwitchesAlone) {
  const auto settings = parse_config_file({"t.toml", "unsafe_decoders = true"});

  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ((*settings)[0].text, "true");
  EXPECT_FALSE(parse_config_file({"t.toml", "unsafe_decoders = 1"}));
  EXPECT_FALSE(parse_config_file({"t.toml", "unsafe_decoders = \"true\""}));
}

TEST(ConfigFile, BooleansAndFloatsAreNoOtherSettings) {
  EXPECT_FALSE(parse_config_file({"t.toml", "port = true"}));
  EXPECT_FALSE(parse_config_file({"t.toml", "port = 1.0"}));
  EXPECT_FALSE(parse_config_file({"t.toml", "host = true"}));
}

TEST(ConfigFile, DeepNestingIsRefusedWithoutHarm) {
  std::string text = "port = ";
  text.append(10'000, '[');

  EXPECT_FALSE(parse_config_file({"t.toml", text}));
}

}  // namespace
}  // namespace tessera::cli
