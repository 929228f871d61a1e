#include "admission/api_keys.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace tessera::admission {
namespace {

constexpr const char* kAlice = "alice-key-0123456789";
constexpr const char* kBob = "bob-key-0123456789ab";

TEST(ApiKeys, WithoutAFileEveryoneIsTenantZero) {
  const ApiKeys keys;

  const Result<TenantId> tenant = keys.authenticate("");

  ASSERT_TRUE(tenant);
  EXPECT_EQ(tenant->value, 0U);
}

TEST(ApiKeys, KeysAreTenantsInOrderOfTheirFirstAppearance) {
  const auto keys = ApiKeys::parse(std::string("# who may call\n\n") + kAlice + "\r\n  " + kBob);
  ASSERT_TRUE(keys);

  EXPECT_EQ(keys->size(), 2U);
  EXPECT_EQ(keys->authenticate(kAlice)->value, 1U);
  EXPECT_EQ(keys->authenticate(kBob)->value, 2U);
}

TEST(ApiKeys, LinesWithTheSameNameAreOneTenant) {
  const auto keys = ApiKeys::parse(
      "alice: first-key-of-alice\nbob: first-key-of-bobby\n"
      "alice:second-key-of-alice\n");
  ASSERT_TRUE(keys);

  EXPECT_EQ(keys->authenticate("first-key-of-alice")->value, 1U);
  EXPECT_EQ(keys->authenticate("first-key-of-bobby")->value, 2U);
  EXPECT_EQ(keys->authenticate("second-key-of-alice")->value, 1U);
}

TEST(ApiKeys, StableNamesFollowTheTenantWhenTheFileIsEdited) {
  const std::string nameless(kAlice);
  const auto before = ApiKeys::parse("bob: " + std::string(kBob) + "\n" + nameless + "\n");
  const auto after = ApiKeys::parse("carl: key-of-carl-0123456789\n" + nameless +
                                    "\nbob: another-key-of-bob-012\nbob: " + kBob + "\n");
  ASSERT_TRUE(before && after);
  const auto name_of = [](const ApiKeys& keys, const std::string& key) {
    return keys.stable_names().at(keys.authenticate(key)->value);
  };

  EXPECT_EQ(name_of(*before, kBob), name_of(*after, kBob));
  EXPECT_EQ(name_of(*before, nameless), name_of(*after, nameless));
  EXPECT_EQ(name_of(*after, kBob), "name:bob");
  EXPECT_EQ(name_of(*after, nameless).find(nameless), std::string::npos) << "never the key itself";
  EXPECT_EQ(after->stable_names().size(), 4U);
  EXPECT_EQ(ApiKeys().stable_names(), std::vector<std::string>{"everyone"});
}

TEST(ApiKeys, AWrongAndAMissingKeyAreToldApart) {
  const auto keys = ApiKeys::parse(kAlice);
  ASSERT_TRUE(keys);

  EXPECT_EQ(keys->authenticate("").error().reason, "missing_api_key");
  EXPECT_EQ(keys->authenticate("alice-key-012345678").error().reason, "invalid_api_key");
  EXPECT_EQ(keys->authenticate(std::string(kAlice) + "0").error().code,
            ErrorCode::kUnauthenticated);
}

TEST(ApiKeys, ErrorsNameTheLineAndNeverTheKey) {
  struct Case {
    std::string text;
    std::string expected;
  };
  const std::string good(kAlice);
  const Case cases[] = {
      {good + "\nshort", "line 2: a key has 16 to 256 characters, this one has 5"},
      {"# x\n" + std::string(257, 'k'), "line 2: a key has 16"},
      {good + "\n\nwith blank 0123456789", "line 3: a key has only printable"},
      {": " + good, "line 1: a name has"},
      {"a b: " + good, "line 1: a name has"},
      {"n: " + good + ":x", "line 1: a key has only printable"},
      {good + "\nbob: " + good, "line 2: the same key stands in line 1"},
      {"# only a comment\n", "holds no key"},
      {"", "holds no key"},
  };
  for (const Case& c : cases) {
    const auto keys = ApiKeys::parse(c.text);

    ASSERT_FALSE(keys) << c.expected;
    EXPECT_NE(keys.error().message.find(c.expected), std::string::npos) << keys.error().message;
    EXPECT_EQ(keys.error().message.find(good), std::string::npos);
    EXPECT_EQ(keys.error().reason, "invalid_key_file");
  }
}

TEST(ApiKeys, RefusesMoreThanItsMaximum) {
  std::string text;
  for (int i = 0; i < 4097; ++i) text += "key-number-0123456789-" + std::to_string(i) + "\n";

  const auto keys = ApiKeys::parse(text);

  ASSERT_FALSE(keys);
  EXPECT_NE(keys.error().message.find("line 4097: more than 4096 keys"), std::string::npos);
}

TEST(ApiKeys, LoadsAFileAndSaysWhenItCannot) {
  const std::string path = testing::TempDir() + "tessera_api_keys_" + std::to_string(::getpid());
  std::ofstream(path) << "alice: " << kAlice << "\n";

  const auto loaded = ApiKeys::load(path);
  const auto missing = ApiKeys::load(path + ".missing");
  std::remove(path.c_str());

  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->authenticate(kAlice)->value, 1U);
  EXPECT_EQ(missing.error().reason, "key_file_not_readable");
}

TEST(ApiKeys, ANameMayHaveRulesOfItsOwn) {
  const auto keys =
      ApiKeys::parse("alice: cache ttl_seconds_max=60\nalice: " + std::string(kAlice) +
                     "\nalice: cache tier_max=memory\nbob: " + kBob + "\n");
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(keys->size(), 2U);
  const CacheRules server = parse_cache_rules("ttl_seconds_max=99 scope=request").value();

  const CacheRules alice = keys->cache_rules(*keys->authenticate(kAlice), server);
  EXPECT_EQ(alice.max.time_to_live, std::chrono::seconds(60));
  EXPECT_EQ(alice.max.tier, CachePolicy::Tier::kMemory);
  EXPECT_EQ(alice.defaults.scope, CachePolicy::Scope::kRequest);
  const CacheRules bob = keys->cache_rules(*keys->authenticate(kBob), server);
  EXPECT_EQ(bob.max.time_to_live, std::chrono::seconds(99));
  EXPECT_EQ(bob.max.tier, std::nullopt);
}

TEST(ApiKeys, WrongRulesAreNamed) {
  const std::string key = "alice: " + std::string(kAlice) + "\n";
  EXPECT_EQ(ApiKeys::parse(key + "alice: cache tier=disk").error().message,
            "the API key file, line 2: tier must be memory or all");
  EXPECT_EQ(ApiKeys::parse(key + "bob: cache tier=all").error().message,
            "the API key file has rules for a name without a key");
}

TEST(ApiKeys, TwoFilesAreComparedByTheirKeys) {
  const auto both = ApiKeys::parse("alice: " + std::string(kAlice) + "\n" + kBob);
  const auto admin = ApiKeys::parse("operator: " + std::string(kBob));
  const auto other = ApiKeys::parse("alice: another-key-012345678");

  EXPECT_TRUE(both->shares_key_with(*admin));
  EXPECT_TRUE(admin->shares_key_with(*both));
  EXPECT_FALSE(both->shares_key_with(*other));
  EXPECT_FALSE(both->shares_key_with(ApiKeys()));
}

TEST(ApiKeys, TheFirstKeyOfAFileCanBePresented) {
  const std::string path = testing::TempDir() + "tessera_first_key_" + std::to_string(::getpid());
  std::ofstream(path) << "# mine\n\noperator: " << kBob << "\nanother: " << kAlice << "\n";
  EXPECT_EQ(*ApiKeys::load_first_key(path, "admin key file"), kBob);

  std::ofstream(path) << "short\n";
  EXPECT_EQ(ApiKeys::load_first_key(path, "admin key file").error().message,
            "the admin key file, line 1: a key has 16 to 256 characters, this one has 5");
  std::remove(path.c_str());
  EXPECT_EQ(ApiKeys::load_first_key(path, "admin key file").error().message,
            "the admin key file cannot be read");
}

}  // namespace
}  // namespace tessera::admission
