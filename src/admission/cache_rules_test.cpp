#include "admission/cache_rules.h"

#include <gtest/gtest.h>

namespace tessera::admission {
namespace {

using Scope = CachePolicy::Scope;
using Tier = CachePolicy::Tier;
using std::chrono::seconds;

CacheRules rules(std::string_view words) {
  return parse_cache_rules(words).value();
}

Error refused(std::string_view words, const CacheWish& wish) {
  const auto policy = apply_cache_rules(rules(words), wish);
  return policy ? Error() : policy.error();
}

TEST(CacheRules, WithoutAnyARequestGetsWhatItAsksFor) {
  const CachePolicy silent = apply_cache_rules({}, {}).value();
  EXPECT_EQ(silent.scope, Scope::kTenant);
  EXPECT_EQ(silent.tier, Tier::kAll);
  EXPECT_EQ(silent.time_to_live, std::nullopt);

  const CachePolicy asked =
      apply_cache_rules({}, {Scope::kNone, Tier::kMemory, seconds(7)}).value();
  EXPECT_EQ(asked.scope, Scope::kNone);
  EXPECT_EQ(asked.tier, Tier::kMemory);
  EXPECT_EQ(asked.time_to_live, seconds(7));
}

TEST(CacheRules, DefaultsAreForRequestsThatSayNothing) {
  const CacheRules defaults = rules("scope=request tier=memory ttl_seconds=60");

  const CachePolicy silent = apply_cache_rules(defaults, {}).value();
  EXPECT_EQ(silent.scope, Scope::kRequest);
  EXPECT_EQ(silent.tier, Tier::kMemory);
  EXPECT_EQ(silent.time_to_live, seconds(60));

  const CachePolicy asked =
      apply_cache_rules(defaults, {Scope::kTenant, Tier::kAll, seconds(90)}).value();
  EXPECT_EQ(asked.scope, Scope::kTenant);
  EXPECT_EQ(asked.tier, Tier::kAll);
  EXPECT_EQ(asked.time_to_live, seconds(90));
}

TEST(CacheRules, CeilingsLowerDefaultsAndRefuseMore) {
  constexpr std::string_view kWords = "scope_max=request tier_max=memory ttl_seconds_max=60";

  const CachePolicy silent = apply_cache_rules(rules(kWords), {}).value();
  EXPECT_EQ(silent.scope, Scope::kRequest);
  EXPECT_EQ(silent.tier, Tier::kMemory);
  EXPECT_EQ(silent.time_to_live, seconds(60));
  EXPECT_EQ(apply_cache_rules(rules("ttl_seconds=90 ttl_seconds_max=60"), {})->time_to_live,
            seconds(60));

  const CachePolicy less = apply_cache_rules(rules(kWords), {Scope::kNone, {}, seconds(1)}).value();
  EXPECT_EQ(less.scope, Scope::kNone);
  EXPECT_EQ(less.time_to_live, seconds(1));

  EXPECT_EQ(refused(kWords, {Scope::kTenant, {}, {}}).param, "tessera.cache.scope");
  EXPECT_EQ(refused(kWords, {{}, Tier::kAll, {}}).param, "tessera.cache.tier");
  const Error too_long = refused(kWords, {{}, {}, seconds(61)});
  EXPECT_EQ(too_long.reason, "limit_not_lower");
  EXPECT_EQ(too_long.message,
            "tessera.cache.ttl_seconds: 61 exceeds the 60 that the operator allows; a request may "
            "lower a limit, not raise it");
  EXPECT_EQ(refused(kWords, {Scope::kRequest, Tier::kMemory, seconds(60)}).reason, "");
}

TEST(CacheRules, ATenantsOwnComeFirst) {
  const CacheRules both = rules("ttl_seconds_max=10 scope=none")
                              .or_else(rules("ttl_seconds_max=99 tier_max=memory scope=request"));

  const CachePolicy policy = apply_cache_rules(both, {}).value();
  EXPECT_EQ(policy.time_to_live, seconds(10));
  EXPECT_EQ(policy.scope, Scope::kNone);
  EXPECT_EQ(policy.tier, Tier::kMemory);
}

TEST(CacheRules, MistakesAreNamed) {
  for (const char* words : {"scope", "scope=all", "tier=disk", "ttl_seconds=0", "ttl_seconds=1h",
                            "ttl_seconds_max=", "ttl=5", "=5", "scope_max=tenant,none"}) {
    const auto parsed = parse_cache_rules(words);
    ASSERT_FALSE(parsed) << words;
    EXPECT_EQ(parsed.error().reason, "invalid_cache_rule") << words;
  }
  EXPECT_EQ(parse_cache_rules("scope_max=all").error().message,
            "scope_max must be none or request or tenant");
  EXPECT_TRUE(parse_cache_rules("  "));
}

}  // namespace
}  // namespace tessera::admission
