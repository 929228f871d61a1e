#include "cli/limits_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "admission/lower_limits.h"
#include "cli/setting_table.h"
#include "metrics/golden_file.h"

namespace tessera::cli {
namespace {

TEST(LimitsPage, SaysHowEachLimitIsRefused) {
  for (const SettingDefinition& setting : setting_table()) {
    if (setting.group != SettingGroup::kLimits) continue;
    EXPECT_FALSE(refusal_of(setting.key).empty()) << setting.key;
  }
}

TEST(LimitsPage, KnowsEveryLimitThatARequestMayLower) {
  for (const admission::LowerableLimit& limit : admission::lowerable_limits()) {
    const std::string key = "limits." + std::string(limit.name);
    const auto table = setting_table();
    EXPECT_NE(std::ranges::find(table, key, &SettingDefinition::key), table.end()) << key;
  }
}

TEST(LimitsPage, IsPrintedInTheDocuments) {
  test_support::expect_matches_file(limits_markdown(), "docs/limits.md");
}

}  // namespace
}  // namespace tessera::cli
