#include "cache/tenant_names.h"

#include <gtest/gtest.h>

namespace tessera::cache {
namespace {

const std::string kDigest(64, 'a');
const TenantNames kNames({"everyone", "name:anna", "key:" + kDigest, "name:everyone"});

TEST(TenantNames, EveryLabelMeansItsTenantAgain) {
  for (std::uint32_t i = 0; i < kNames.size(); ++i) {
    const TenantNames::Named named = kNames.named(kNames.label(TenantId{i}));

    EXPECT_EQ(named.tenant, TenantId{i}) << kNames.label(TenantId{i});
    EXPECT_EQ(named.name, kNames.name(TenantId{i}));
  }
}

TEST(TenantNames, PeopleReadNamesAndTheStartOfADigest) {
  EXPECT_EQ(kNames.label(TenantId{0}), "everyone");
  EXPECT_EQ(kNames.label(TenantId{1}), "anna");
  EXPECT_EQ(kNames.label(TenantId{2}), "key:aaaaaaaaaaaaaaaa");
  EXPECT_EQ(kNames.label(TenantId{3}), "name:everyone");
  EXPECT_EQ(kNames.label(TenantId{9}), "number:9");
}

TEST(TenantNames, WhoIsInNoFileAnyMoreHasTheNameThatItHad) {
  EXPECT_EQ(kNames.named("anna").name, "name name:anna");
  EXPECT_EQ(TenantNames().named("anna").name, "name name:anna");
  EXPECT_EQ(TenantNames().named("name:anna").name, "name name:anna");
  EXPECT_EQ(TenantNames().named("everyone").name, "name everyone");
  EXPECT_EQ(TenantNames().named("key:" + kDigest).name, "name key:" + kDigest);
  EXPECT_EQ(TenantNames().named("anna").tenant, std::nullopt);
}

TEST(TenantNames, TwoTenantsNeverHaveOneName) {
  EXPECT_EQ(kNames.named("key:aaaaaaaaaaaaaaab").tenant, std::nullopt);
  EXPECT_NE(kNames.named("everyone").name, kNames.named("name:everyone").name);
  EXPECT_NE(kNames.name(TenantId{9}), kNames.named("number:9").name);
}

}  // namespace
}  // namespace tessera::cache
