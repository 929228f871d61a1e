#include "cli/setting_value.h"

#include <gtest/gtest.h>

#include <limits>

namespace tessera::cli {
namespace {

constexpr SettingBounds kWide{0, std::numeric_limits<std::int64_t>::max()};

std::size_t size_of(std::string_view text) {
  std::size_t bytes = 0;
  EXPECT_TRUE(parse_value(text, &bytes, kWide)) << text;
  return bytes;
}

bool is_size(std::string_view text) {
  std::size_t bytes = 0;
  return parse_value(text, &bytes, kWide).has_value();
}

std::chrono::milliseconds duration_of(std::string_view text) {
  std::chrono::milliseconds duration{};
  EXPECT_TRUE(parse_value(text, &duration, kWide)) << text;
  return duration;
}

TEST(SettingValue, SizesTakeBinaryUnits) {
  EXPECT_EQ(size_of("512"), 512U);
  EXPECT_EQ(size_of("512B"), 512U);
  EXPECT_EQ(size_of("16KiB"), 16U * 1024);
  EXPECT_EQ(size_of("20MiB"), 20 * kMiB);
  EXPECT_EQ(size_of("1GiB"), 1024 * kMiB);
}

TEST(SettingValue, SizesRefuseWhatIsAmbiguousOrTooLarge) {
  for (const char* text : {"", "MiB", "20MB", "20 MiB", "1.5MiB", "-1", "99999999999GiB"}) {
    EXPECT_FALSE(is_size(text)) << text;
  }
}

TEST(SettingValue, DurationsNeedAUnit) {
  std::chrono::milliseconds duration{};

  EXPECT_EQ(duration_of("1500ms"), std::chrono::milliseconds(1500));
  EXPECT_EQ(duration_of("30s"), std::chrono::seconds(30));
  EXPECT_EQ(duration_of("5min"), std::chrono::minutes(5));
  EXPECT_EQ(duration_of("2h"), std::chrono::hours(2));
  EXPECT_FALSE(parse_value("30", &duration, kWide));
}

TEST(SettingValue, NumbersAreWhole) {
  int number = 7;

  EXPECT_FALSE(parse_value("1.5", &number, kWide));
  EXPECT_FALSE(parse_value("0x10", &number, kWide));
  EXPECT_FALSE(parse_value(" 1", &number, kWide));
  EXPECT_FALSE(parse_value("99999999999999999999", &number, kWide));
  EXPECT_EQ(number, 7);
  EXPECT_TRUE(parse_value("12", &number, kWide));
  EXPECT_EQ(number, 12);
}

TEST(SettingValue, BoundsAreInclusive) {
  int number = 0;

  EXPECT_TRUE(parse_value("1", &number, {1, 3}));
  EXPECT_TRUE(parse_value("3", &number, {1, 3}));
  EXPECT_FALSE(parse_value("0", &number, {1, 3}));
  const auto above = parse_value("4", &number, {1, 3});
  ASSERT_FALSE(above);
  EXPECT_EQ(above.error().message, "4 is not between 1 and 3");
}

TEST(SettingValue, BoundsOfSizesArePrintedWithUnits) {
  std::size_t bytes = 0;

  const auto above = parse_value("2GiB", &bytes, {1024, std::int64_t{1} << 30});

  ASSERT_FALSE(above);
  EXPECT_EQ(above.error().message, "2GiB is not between 1KiB and 1GiB");
}

TEST(SettingValue, LogLevelsAreNames) {
  LogLevel level = LogLevel::kInfo;

  EXPECT_TRUE(parse_value("debug", &level, {}));
  EXPECT_EQ(level, LogLevel::kDebug);
  EXPECT_FALSE(parse_value("verbose", &level, {}));
}

TEST(SettingValue, SwitchesAreTrueOrFalse) {
  bool value = false;
  EXPECT_TRUE(parse_value("true", &value, {}));
  EXPECT_TRUE(value);
  EXPECT_EQ(toml_value(&value), "true");
  EXPECT_TRUE(parse_value("false", &value, {}));
  EXPECT_FALSE(value);
  for (const char* text : {"", "1", "yes", "TRUE"}) EXPECT_FALSE(parse_value(text, &value, {}));
}

TEST(SettingValue, PrintsAsToml) {
  std::string text = "a \"b\"\\\n";
  std::size_t bytes = 0;
  std::chrono::milliseconds duration{90'000};
  LogLevel level = LogLevel::kWarning;
  int number = -1;

  EXPECT_EQ(toml_value(&text), R"("a \"b\"\\\u000A")");
  EXPECT_EQ(toml_value(&bytes), "\"0B\"");
  EXPECT_EQ(toml_value(&duration), "\"90s\"");
  EXPECT_EQ(toml_value(&level), "\"warning\"");
  EXPECT_EQ(toml_value(&number), "-1");
}

}  // namespace
}  // namespace tessera::cli
