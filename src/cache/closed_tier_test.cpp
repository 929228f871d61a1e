#include "cache/closed_tier.h"

#include <gtest/gtest.h>

#include "cache/feature_store.h"
#include "cache/test_folder.h"

namespace tessera::cache {
namespace {

using std::chrono::seconds;

constexpr TenantId kAnna{1};
constexpr TenantId kBen{2};

class ClosedTierTest : public ::testing::Test {
 protected:
  /// What a server left: two entries of anna's, one of ben's.
  ClosedTierTest() {
    const auto tier = open_tier();
    put(*tier, 1, kAnna);
    put(*tier, 2, kAnna, seconds(100));
    put(*tier, 3, kBen);
  }

  DiskTierOptions options() {
    DiskTierOptions options;
    options.folder = folder_.path();
    options.secret_file = secret_file_;
    options.bytes_max = 1'000'000;
    options.tenants = tenants_;
    return options;
  }
  std::unique_ptr<DiskTier> open_tier() {
    return DiskTier::open(options(), [this] { return now_; }).value();
  }
  static void put(DiskTier& tier, int i, TenantId tenant,
                  std::optional<Duration> time_to_live = {}) {
    tier.store(test_key(i), tenant, std::make_shared<const Embedding>(test_rows(i)), seconds(1),
               time_to_live);
    tier.flush();
  }
  Result<std::unique_ptr<ClosedTier>> open_closed() {
    return ClosedTier::open(options(), [this] { return now_; });
  }
  bool has(int i, TenantId tenant) { return open_tier()->find(test_key(i), tenant).has_value(); }

  TestFolder folder_;
  std::string secret_file_;
  std::int64_t now_ = DiskTier::system_seconds();
  TenantNames tenants_{{"everyone", "name:anna", "name:ben"}};
};

TEST_F(ClosedTierTest, SaysWhoHasHowMuch) {
  folder_.set_used(now_);
  now_ += 50;
  auto report = open_closed().value()->report();
  ASSERT_TRUE(report);
  ASSERT_EQ(report->tiers.size(), 1U);
  EXPECT_EQ(report->tiers[0].n_entries, 3U);
  ASSERT_EQ(report->tiers[0].tenants.size(), 2U);
  EXPECT_EQ(report->tiers[0].tenants[0].tenant, "anna");
  EXPECT_EQ(report->tiers[0].tenants[0].n_entries, 2U);
  EXPECT_EQ(report->tiers[0].oldest_use, seconds(50));

  now_ += 51;  // the second entry's time is over
  report = open_closed().value()->report();
  EXPECT_EQ(report->tiers[0].n_entries, 2U);
}

TEST_F(ClosedTierTest, LookingChangesNothing) {
  ASSERT_TRUE(open_closed().value()->report());

  EXPECT_TRUE(has(1, kAnna));
  EXPECT_TRUE(has(2, kAnna));
  EXPECT_TRUE(has(3, kBen));
}

TEST_F(ClosedTierTest, ForgetsOneTenant) {
  const auto forgotten = open_closed().value()->forget("anna");

  ASSERT_TRUE(forgotten);
  EXPECT_EQ(forgotten->n_disk, 2U);
  EXPECT_EQ(folder_.entries().size(), 1U);
  EXPECT_FALSE(has(1, kAnna));
  EXPECT_TRUE(has(3, kBen));
  EXPECT_EQ(open_closed().value()->forget("dora").error().reason, "tenant_unknown");
}

TEST_F(ClosedTierTest, ForgetsEverybody) {
  EXPECT_EQ(open_closed().value()->forget_all()->n_disk, 3U);

  EXPECT_TRUE(folder_.entries().empty());
  EXPECT_FALSE(has(3, kBen));
}

TEST_F(ClosedTierTest, WithoutTheSecretTenantsAreFoldersAndNamesMeanNothing) {
  const std::filesystem::path secret = version_folder(folder_.path()) + "/secret";
  std::filesystem::rename(secret, folder_.path() / "elsewhere");
  const auto closed = open_closed().value();
  EXPECT_FALSE(std::filesystem::exists(secret)) << "a new one would make everything unreadable";

  const auto report = closed->report();
  const std::string label = report->tiers[0].tenants[0].tenant;
  EXPECT_TRUE(label.starts_with("folder:t-"));
  EXPECT_EQ(closed->forget("anna").error().reason, "cache_secret_unusable");
  EXPECT_TRUE(closed->forget(label));
  EXPECT_EQ(closed->report()->tiers[0].tenants.size(), 1U);
}

TEST_F(ClosedTierTest, TheSecretMayBeElsewhereButMustBeThere) {
  secret_file_ = (folder_.path() / "elsewhere").string();
  EXPECT_EQ(open_closed().error().reason, "cache_secret_unusable");
  std::filesystem::rename(version_folder(folder_.path()) + "/secret", secret_file_);

  EXPECT_EQ(open_closed().value()->report()->tiers[0].tenants[0].tenant, "anna");
}

TEST_F(ClosedTierTest, AFolderThatAServerHasIsInUse) {
  const auto tier = open_tier();

  EXPECT_EQ(open_closed().error().reason, "cache_dir_in_use");
}

TEST_F(ClosedTierTest, AFolderWithoutFeaturesIsNotMade) {
  DiskTierOptions other = options();
  other.folder = folder_.path() / "other";

  EXPECT_EQ(ClosedTier::open(other).error().reason, "cache_dir_not_found");
  EXPECT_FALSE(std::filesystem::exists(other.folder));
}

}  // namespace
}  // namespace tessera::cache
