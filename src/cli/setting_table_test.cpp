#include "cli/setting_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "metrics/golden_file.h"

namespace tessera::cli {
namespace {

std::string header_of(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(TESSERA_SOURCE_DIR "/src/core/" + name).rdbuf();
  return text.str();
}

std::string limits_header() {
  return header_of("limits.h");
}

const SettingDefinition& setting(std::string_view key) {
  for (const SettingDefinition& row : setting_table()) {
    if (row.key == key) return row;
  }
  ADD_FAILURE() << "no setting " << key;
  return setting_table().front();
}

TEST(SettingTable, KeysAreUnique) {
  std::set<std::string_view> keys;
  for (const SettingDefinition& row : setting_table()) {
    EXPECT_TRUE(keys.insert(row.key).second) << row.key;
  }
}

TEST(SettingTable, EachFieldIsSetByOneKey) {
  Settings settings;
  std::set<const void*> fields;
  for (const SettingDefinition& row : setting_table()) {
    const void* field = std::visit([](auto* at) -> const void* { return at; }, row.field(settings));
    EXPECT_TRUE(fields.insert(field).second) << row.key;
  }
}

TEST(SettingTable, DefaultsAreInsideTheirBounds) {
  for (const SettingDefinition& row : setting_table()) {
    Settings settings;
    std::string text = toml_value(row.field(settings));
    std::erase(text, '"');
    EXPECT_TRUE(parse_value(text, row.field(settings), row.bounds)) << row.key << " = " << text;
  }
}

TEST(SettingTable, EveryLimitCanBeSet) {
  const std::string header = limits_header();
  const std::string body = header.substr(header.find("struct Limits {"));
  const std::regex field(R"((\w+)(\{[^}]*\})?( = [^;]*)?;)");
  int n_fields = 0;
  std::istringstream lines(body.substr(body.find('\n'), body.find("};")));
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.starts_with("};") || !line.starts_with("  ") || line.starts_with("  //") ||
        !std::regex_search(line, match, field)) {
      continue;
    }
    ++n_fields;
    EXPECT_EQ(setting("limits." + match[1].str()).group, SettingGroup::kLimits);
  }
  EXPECT_EQ(n_fields, 33);
}

TEST(SettingTable, ReasonsOfLimitsAreThoseOfTheHeader) {
  const std::string header =
      limits_header() + header_of("remote_limits.h") + header_of("upload_limits.h");
  for (const SettingDefinition& row : setting_table()) {
    if (row.group != SettingGroup::kLimits) continue;
    EXPECT_NE(header.find(row.reason), std::string::npos) << row.key << ": " << row.reason;
  }
}

TEST(SettingTable, NamesFollowFromTheKey) {
  EXPECT_EQ(flag_name(setting("limits.images_max")), "--limits-images-max");
  EXPECT_EQ(variable_name(setting("limits.images_max")), "TESSERA_LIMITS_IMAGES_MAX");
  EXPECT_EQ(flag_name(setting("api_key_file")), "--api-key-file");
}

TEST(SettingTable, DefaultTextHasItsUnitWhenAskedFor) {
  EXPECT_EQ(default_text(setting("sequences"), DefaultUnit::kNo), "16");
  EXPECT_EQ(default_text(setting("port"), DefaultUnit::kYes), "8080");
  EXPECT_EQ(default_text(setting("sequences"), DefaultUnit::kYes), "16 sequences");
  EXPECT_EQ(default_text(setting("model"), DefaultUnit::kYes), "the bundled model");
  EXPECT_EQ(default_text(setting("limits.body_bytes_max"), DefaultUnit::kYes), "64MiB");
  EXPECT_EQ(default_text(setting("limits.request_timeout"), DefaultUnit::kYes), "5min");
}

TEST(SettingTable, SuggestsOnlyNamesThatAreClose) {
  const std::vector<std::string> names{"port", "host", "model"};

  EXPECT_EQ(closest_name("prot", names), "port");
  EXPECT_EQ(closest_name("hosts", names), "host");
  EXPECT_EQ(closest_name("temperature", names), std::nullopt);
}

TEST(SettingTable, IsPrintedInTheDocuments) {
  test_support::expect_matches_file(configuration_markdown(), "docs/configuration.md");
}

}  // namespace
}  // namespace tessera::cli
