#include "fetch/domain_rules.h"

#include <gtest/gtest.h>

namespace tessera::fetch {
namespace {

DomainRules rules_of(const std::vector<std::string>& entries) {
  auto rules = DomainRules::only(entries);
  EXPECT_TRUE(rules);
  return rules ? *rules : DomainRules();
}

TEST(DomainRules, NothingIsAllowedByDefault) {
  EXPECT_FALSE(DomainRules().allows("cdn.example.com"));
}

TEST(DomainRules, PublicInternetAllowsEveryName) {
  EXPECT_TRUE(DomainRules::public_internet().allows("cdn.example.com"));
}

TEST(DomainRules, AnExactNameAllowsItselfAlone) {
  const DomainRules rules = rules_of({"CDN.example.com."});
  EXPECT_TRUE(rules.allows("cdn.example.com"));
  EXPECT_FALSE(rules.allows("a.cdn.example.com"));
  EXPECT_FALSE(rules.allows("example.com"));
  EXPECT_FALSE(rules.allows("cdn.example.com.evil.net"));
}

TEST(DomainRules, AWildcardAllowsNamesBelowItAtAnyDepthButNotItself) {
  const DomainRules rules = rules_of({"*.example.com"});
  EXPECT_TRUE(rules.allows("a.example.com"));
  EXPECT_TRUE(rules.allows("a.b.example.com"));
  EXPECT_FALSE(rules.allows("example.com"));
  EXPECT_FALSE(rules.allows("evilexample.com"));
  EXPECT_FALSE(rules.allows("a.example.com.evil.net"));
}

TEST(DomainRules, AnAddressIsAllowedWhenItIsListed) {
  const DomainRules rules = rules_of({"9.9.9.9", "[2620:FE::fe]"});
  EXPECT_TRUE(rules.allows("9.9.9.9"));
  EXPECT_TRUE(rules.allows("[2620:fe::fe]"));
  EXPECT_FALSE(rules.allows("9.9.9.8"));
}

TEST(DomainRules, WhatIsNoDomainIsAnErrorAtStart) {
  for (const char* entry : {"", "*", "*.", "*.com", "com", "a.*.com", "https://a.example.com",
                            "a.example.com/x", "a.example.com:80", "*.9.9.9.9", "*a.example.com"}) {
    const auto rules = DomainRules::only(std::vector<std::string>{entry});
    ASSERT_FALSE(rules) << entry;
    EXPECT_EQ(rules.error().reason, "remote_domain_invalid");
  }
}

TEST(DomainRules, ALongerListThanTheLimitIsAnError) {
  EXPECT_TRUE(DomainRules::only(std::vector<std::string>(kDomainsMax, "a.example.com")));
  EXPECT_FALSE(DomainRules::only(std::vector<std::string>(kDomainsMax + 1, "a.example.com")));
}

}  // namespace
}  // namespace tessera::fetch
