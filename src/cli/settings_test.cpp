#include "cli/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/setting_table.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;
using Kind = SettingSource::Kind;

const BundledModel kBundled{"tiny.gguf", "tiny-mmproj.gguf"};

SettingInputs with_file(std::string text) {
  return {.flags = {},
          .environment = {},
          .file = ConfigFile{"t.toml", std::move(text)},
          .bundled = kBundled};
}

SettingSource source_of(const LoadedSettings& loaded, std::string_view key) {
  for (std::size_t i = 0; i < setting_table().size(); ++i) {
    if (setting_table()[i].key == key) return loaded.sources[i];
  }
  return {Kind::kDefault, "no such setting"};
}

std::string message_of(const SettingInputs& inputs) {
  const auto loaded = load_settings(inputs);
  return loaded ? "no error" : loaded.error().message;
}

TEST(Settings, DefaultsNameTheBundledModel) {
  const auto loaded =
      load_settings({.flags = {}, .environment = {}, .file = {}, .bundled = kBundled});

  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->values.model_path, "tiny.gguf");
  EXPECT_EQ(loaded->values.mmproj_path, "tiny-mmproj.gguf");
  EXPECT_EQ(loaded->values.port, 8080);
  EXPECT_EQ(loaded->values.limits.image_bytes_max, 20 * kMiB);
}

TEST(Settings, AnOwnModelDoesNotGetTheBundledProjector) {
  const auto loaded = load_settings(
      {.flags = {{"model", "own.gguf"}}, .environment = {}, .file = {}, .bundled = kBundled});

  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->values.model_path, "own.gguf");
  EXPECT_EQ(loaded->values.mmproj_path, "");
}

TEST(Settings, AProjectorWithoutAModelIsAnError) {
  EXPECT_EQ(message_of({.flags = {},
                        .environment = {{"TESSERA_MMPROJ", "p.gguf"}},
                        .file = {},
                        .bundled = kBundled}),
            "mmproj needs model: the bundled model has its own projector (TESSERA_MMPROJ)");
}

TEST(Settings, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  SettingInputs inputs = with_file("port = 1\nhttp_threads = 3\nsequences = 4\n");
  inputs.environment = {{"TESSERA_PORT", "2"}, {"TESSERA_HTTP_THREADS", "5"}};
  inputs.flags = {{"port", "3"}};

  const auto loaded = load_settings(inputs);

  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->values.port, 3);
  EXPECT_EQ(loaded->values.n_http_threads, 5);
  EXPECT_EQ(loaded->values.n_sequences, 4);
  EXPECT_EQ(source_of(*loaded, "port").place, "--port");
  EXPECT_EQ(source_of(*loaded, "http_threads").place, "TESSERA_HTTP_THREADS");
  EXPECT_EQ(source_of(*loaded, "sequences").place, "t.toml:3");
  EXPECT_EQ(source_of(*loaded, "host").kind, Kind::kDefault);
}

TEST(Settings, AnEmptyVariableCountsAsUnset) {
  const auto loaded = load_settings(
      {.flags = {}, .environment = {{"TESSERA_PORT", ""}}, .file = {}, .bundled = kBundled});

  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->values.port, 8080);
}

TEST(Settings, LimitsStandInATableOfTheFile) {
  const auto loaded = load_settings(with_file(R"([limits]
images_max = 3
image_bytes_max = "2MiB"
text_bytes_max = 4096
request_timeout = "90s"
)"));

  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->values.limits.images_max, 3);
  EXPECT_EQ(loaded->values.limits.image_bytes_max, 2 * kMiB);
  EXPECT_EQ(loaded->values.limits.text_bytes_max, 4096U);
  EXPECT_EQ(loaded->values.limits.request_timeout, std::chrono::seconds(90));
}

TEST(Settings, AnUnknownKeyIsAnErrorWithItsLineAndASuggestion) {
  EXPECT_EQ(message_of(with_file("host = \"::1\"\nprot = 80\n")),
            "t.toml:2: unknown setting \"prot\"; did you mean \"port\"?");
  EXPECT_EQ(message_of(with_file("[limits]\nimage_max = 80\n")),
            "t.toml:2: unknown setting \"limits.image_max\"; did you mean \"limits.images_max\"?");
  EXPECT_EQ(message_of(with_file("\n[server]\nport = 80\n")),
            "t.toml:2: unknown setting \"server\"");
}

TEST(Settings, AWrongTomlTypeIsAnErrorWithItsLine) {
  EXPECT_EQ(message_of(with_file("port = \"80\"\n")), "t.toml:1: port must be a whole number");
  EXPECT_EQ(message_of(with_file("host = 80\n")), "t.toml:1: host must be a text");
  EXPECT_EQ(message_of(with_file("[limits]\nrequest_timeout = 30\n")),
            "t.toml:2: limits.request_timeout must be a duration with its unit, like 500ms, 30s or "
            "5min");
  EXPECT_EQ(message_of(with_file("port = [1]\n")), "t.toml:1: port must be a whole number");
}

TEST(Settings, TextThatIsNotTomlIsAnErrorWithItsLine) {
  EXPECT_THAT(message_of(with_file("port = 80\nhost = \n")),
              HasSubstr("t.toml:2: not valid TOML: "));
  EXPECT_THAT(message_of(with_file("port = 80\nport = 81\n")),
              HasSubstr("t.toml:2: not valid TOML"));
}

TEST(Settings, AValueOutOfRangeNamesValueRangeAndPlace) {
  EXPECT_EQ(message_of(with_file("port = 70000\n")),
            "port: 70000 is not between 0 and 65535 (t.toml:1)");
  EXPECT_EQ(
      message_of(
          {.flags = {{"port", "eighty"}}, .environment = {}, .file = {}, .bundled = kBundled}),
      "port: \"eighty\" is not a whole number (--port)");
  EXPECT_EQ(message_of({.flags = {},
                        .environment = {{"TESSERA_LIMITS_BODY_BYTES_MAX", "2TiB"}},
                        .file = {},
                        .bundled = kBundled}),
            "limits.body_bytes_max: \"2TiB\" is not a size like 20MiB, 16KiB or 512 "
            "(TESSERA_LIMITS_BODY_BYTES_MAX)");
}

TEST(Settings, SettingsThatContradictEachOtherAreAnError) {
  EXPECT_EQ(message_of(with_file("[limits]\noutput_tokens_max = 10\n")),
            "limits.output_tokens_default: 1024 exceeds limits.output_tokens_max, 10");
  EXPECT_EQ(message_of(with_file("[limits]\nrequest_pixels_max = 10\n")),
            "limits.image_pixels_max: 40000000 exceeds limits.request_pixels_max, 10");
}

TEST(Settings, ContentIsLoggedOnlyWhenTwoSettingsSaySo) {
  const std::string path = "content_log = \"c.jsonl\"\n";
  const std::string consent = "content_log_consent = \"i-log-what-users-send\"\n";

  EXPECT_EQ(message_of(with_file(path)),
            "content_log: would write down what users send; this needs content_log_consent = "
            "\"i-log-what-users-send\", word for word");
  EXPECT_EQ(message_of(with_file(path + "content_log_consent = \"true\"\n")),
            message_of(with_file(path)));
  EXPECT_EQ(message_of(with_file(consent)),
            "content_log_consent: there is no content_log that it would allow");
  const auto both = load_settings(with_file(path + consent));
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->values.content_log, "c.jsonl");
  EXPECT_TRUE(load_settings(with_file(""))->values.content_log.empty());
}

TEST(Settings, ErrorsNameTheSetting) {
  const auto loaded = load_settings(with_file("port = 70000\n"));

  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(loaded.error().reason, "bad_setting");
  EXPECT_EQ(loaded.error().param, "port");
}

TEST(Settings, PrintedConfigurationSaysWhereEachValueCameFrom) {
  SettingInputs inputs = with_file("\nsequences = 4\n");
  inputs.environment = {{"TESSERA_LOG_LEVEL", "debug"}};
  inputs.flags = {{"port", "0"}};

  const std::string text = print_config(*load_settings(inputs));

  EXPECT_THAT(text, HasSubstr("\nport = 0                            # --port\n"));
  EXPECT_THAT(text, HasSubstr("\nlog_level = \"debug\"                 # TESSERA_LOG_LEVEL\n"));
  EXPECT_THAT(text, HasSubstr("\nsequences = 4                       # t.toml:2\n"));
  EXPECT_THAT(text, HasSubstr("\nimage_bytes_max = \"20MiB\"           # default\n"));
}

TEST(Settings, PrintedConfigurationIsAConfigurationWithTheSameValues) {
  SettingInputs inputs =
      with_file("model = 'a \"b\"\\c'\n[limits]\nrequest_timeout = \"1500ms\"\n");
  inputs.flags = {{"limits.body_bytes_max", "1025"}, {"limits.images_max", "0"}};
  const std::string first = print_config(*load_settings(inputs));

  const auto again = load_settings(with_file(first));

  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->values.model_path, "a \"b\"\\c");
  EXPECT_EQ(again->values.limits.body_bytes_max, 1025U);
  EXPECT_EQ(again->values.limits.request_timeout, std::chrono::milliseconds(1500));
  auto without_comments = [](const std::string& text) {
    std::string out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      out += line.substr(0, line.find("  ")) + "\n";
    return out;
  };
  EXPECT_EQ(without_comments(print_config(*again)), without_comments(first));
}

TEST(Settings, OnlyVariablesOfOursAreTakenFromTheEnvironment) {
  const char* const variables[] = {"HOME=x", "TESSERA_PORT=80", "TESSERA_HOST=a=b", "TESSERA_X",
                                   nullptr};

  const auto found = tessera_environment(variables);

  EXPECT_EQ(found,
            (std::map<std::string, std::string>{{"TESSERA_PORT", "80"}, {"TESSERA_HOST", "a=b"}}));
}

class ConfigFileOnDisk : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(path_) << "port = 80\n"; }
  void TearDown() override { std::filesystem::remove(path_); }

  // Tests run side by side, each in a process of its own.
  const std::string path_ =
      ::testing::TempDir() + "tessera_settings_" + std::to_string(::getpid()) + ".toml";
};

TEST_F(ConfigFileOnDisk, IsReadFromTheFlagBeforeTheEnvironment) {
  const auto by_flag = read_config_file(path_, {{"TESSERA_CONFIG", "elsewhere.toml"}});
  const auto by_variable = read_config_file(std::nullopt, {{"TESSERA_CONFIG", path_}});

  ASSERT_TRUE(by_flag && by_variable);
  EXPECT_EQ((*by_flag)->text, "port = 80\n");
  EXPECT_EQ((*by_variable)->name, path_);
}

TEST_F(ConfigFileOnDisk, IsNotNeeded) {
  const auto none = read_config_file(std::nullopt, {});

  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
}

TEST_F(ConfigFileOnDisk, IsAnErrorWhenMissingOrTooLarge) {
  std::filesystem::resize_file(path_, kConfigFileBytesMax + 1);

  const auto missing = read_config_file("no/such.toml", {});
  const auto large = read_config_file(path_, {});

  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "no/such.toml: the configuration file cannot be opened");
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message, HasSubstr("exceeds 1MiB"));
}

TEST_F(ConfigFileOnDisk, IsAnErrorWhenItIsADirectory) {
  const auto directory = read_config_file(::testing::TempDir(), {});

  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, HasSubstr("cannot be"));
}

TEST(Settings, RulesOfTheCacheAreCheckedWhenTheyAreRead) {
  EXPECT_EQ(message_of(with_file("cache_rules = \"tier_max=memory ttl_seconds_max=60\"\n")),
            "no error");
  EXPECT_EQ(message_of(with_file("cache_rules = \"tier=disk\"\n")),
            "cache_rules: tier must be memory or all");
}

}  // namespace
}  // namespace tessera::cli
