#include "cache/feature_store.h"

#include <gtest/gtest.h>

#include <utility>

#include "cache/test_folder.h"

namespace tessera::cache {
namespace {

using std::chrono::seconds;
using Scope = CachePolicy::Scope;
using Tier = CachePolicy::Tier;

constexpr TenantId kAnna{1};
constexpr TenantId kBen{2};

class FeatureStoreTest : public ::testing::Test {
 protected:
  FeatureStoreTest() { restart(); }

  void restart() {
    store_.reset();
    disk_.reset();
    DiskTierOptions options;
    options.folder = folder_.path();
    options.bytes_max = 1'000'000;
    options.tenants = tenants_;
    disk_ = DiskTier::open(std::move(options), [this] { return now_; }).value();
    store_ = std::make_unique<FeatureStore>(FeatureCacheOptions{1'000'000, true}, clock_,
                                            disk_.get(), tenants_);
  }

  static CachePolicy policy(Scope scope = Scope::kTenant, Tier tier = Tier::kAll) {
    CachePolicy policy;
    policy.scope = scope;
    policy.tier = tier;
    return policy;
  }
  std::shared_ptr<const Embedding> put(int i, const CachePolicy& policy) {
    Embedding rows = test_rows(i);
    rows.rows[0] = 0.1F;  // no half
    auto stored = store_->store(test_key(i), kAnna, std::move(rows), seconds(1), policy);
    disk_->flush();
    return stored;
  }
  std::shared_ptr<const Embedding> find(int i, const CachePolicy& policy) {
    return store_->find(test_key(i), kAnna, policy);
  }

  TenantNames tenants_{{"everyone", "name:anna", "name:ben"}};
  TestFolder folder_;
  ManualClock clock_;
  std::int64_t now_ = 1'800'000'000;
  std::unique_ptr<DiskTier> disk_;
  std::unique_ptr<FeatureStore> store_;
};

TEST_F(FeatureStoreTest, WhatIsFoundOnDiskIsWhatWasComputedAndIsInMemoryFromThenOn) {
  const auto computed = put(1, policy());
  EXPECT_EQ(find(1, policy())->rows, computed->rows);
  EXPECT_EQ(disk_->stats().n_hits, 0U) << "memory had it";
  restart();
  EXPECT_EQ(store_->find_in_memory(test_key(1)), nullptr);

  const auto found = find(1, policy());

  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->rows, computed->rows);
  EXPECT_EQ(store_->find_in_memory(test_key(1))->rows, computed->rows);
  EXPECT_EQ(find(1, policy())->rows, computed->rows);
  EXPECT_EQ(store_->disk_stats().n_hits, 1U);
}

TEST_F(FeatureStoreTest, ARequestForMemoryOnlyNeitherWritesNorReadsTheDisk) {
  (void)put(1, policy(Scope::kTenant, Tier::kMemory));
  EXPECT_NE(find(1, policy(Scope::kTenant, Tier::kMemory)), nullptr);
  (void)put(2, policy());
  restart();

  EXPECT_EQ(find(1, policy()), nullptr);
  EXPECT_EQ(find(2, policy(Scope::kTenant, Tier::kMemory)), nullptr);
  EXPECT_NE(find(2, policy()), nullptr);
  EXPECT_NE(find(2, policy(Scope::kTenant, Tier::kMemory)), nullptr) << "from memory now";
}

TEST_F(FeatureStoreTest, ARequestThatSharesWithNobodyLeavesAndFindsNothing) {
  for (const Scope scope : {Scope::kRequest, Scope::kNone}) {
    EXPECT_NE(put(1, policy(scope)), nullptr);
    EXPECT_EQ(find(1, policy()), nullptr);
    EXPECT_EQ(disk_->stats().n_entries, 0U);
  }
  (void)put(2, policy());
  EXPECT_EQ(find(2, policy(Scope::kRequest)), nullptr);
  EXPECT_EQ(find(2, policy(Scope::kNone)), nullptr);
}

TEST_F(FeatureStoreTest, WhatCameFromDiskLivesInMemoryForTheRestOfItsTime) {
  CachePolicy short_lived = policy();
  short_lived.time_to_live = seconds(100);
  (void)put(1, short_lived);
  now_ += 90;
  restart();
  EXPECT_NE(find(1, policy()), nullptr);
  clock_.advance(seconds(9));
  EXPECT_NE(store_->find_in_memory(test_key(1)), nullptr);
  clock_.advance(seconds(1));

  EXPECT_EQ(store_->find_in_memory(test_key(1)), nullptr);
}

TEST_F(FeatureStoreTest, AForgottenTenantIsForgottenInEveryTier) {
  (void)put(1, policy());
  ASSERT_TRUE(store_->forget("anna"));

  EXPECT_EQ(find(1, policy()), nullptr);
  restart();
  EXPECT_EQ(find(1, policy()), nullptr);
}

TEST_F(FeatureStoreTest, ForgettingOneTenantLeavesTheOthers) {
  (void)put(1, policy());
  (void)store_->store(test_key(2), kBen, test_rows(2), seconds(1), policy());
  disk_->flush();

  const auto forgotten = store_->forget("anna");

  ASSERT_TRUE(forgotten);
  EXPECT_EQ(forgotten->n_memory, 1U);
  EXPECT_EQ(forgotten->n_disk, 1U);
  EXPECT_NE(store_->find(test_key(2), kBen, policy()), nullptr);
  restart();
  EXPECT_NE(store_->find(test_key(2), kBen, policy()), nullptr);
}

TEST_F(FeatureStoreTest, ATenantThatIsInTheKeyFileNoMoreCanBeForgotten) {
  (void)put(1, policy());
  const TenantNames before = std::exchange(tenants_, TenantNames({"everyone", "name:carl"}));
  restart();
  ASSERT_EQ(store_->report().tiers.at(1).tenants.size(), 1U);
  const std::string label = store_->report().tiers.at(1).tenants.front().tenant;
  EXPECT_TRUE(label.starts_with("folder:t-")) << label;

  EXPECT_EQ(store_->forget("dora").error().reason, "tenant_unknown");
  EXPECT_EQ(store_->forget("folder:t-0").error().reason, "tenant_unknown");
  const auto forgotten = store_->forget("anna");
  ASSERT_TRUE(forgotten);
  EXPECT_EQ(forgotten->n_disk, 1U);
  EXPECT_EQ(store_->forget(label).error().reason, "tenant_unknown") << "it is gone";

  tenants_ = before;
  restart();
  EXPECT_EQ(find(1, policy()), nullptr);
}

TEST_F(FeatureStoreTest, ATenantCanBeForgottenByItsFolder) {
  (void)put(1, policy());
  disk_->flush();
  const std::string label = folder_label(disk_->folder(kAnna));

  const auto forgotten = store_->forget(label);

  ASSERT_TRUE(forgotten);
  EXPECT_EQ(forgotten->n_memory, 1U) << "it has a number in this start";
  EXPECT_EQ(forgotten->n_disk, 1U);
  EXPECT_EQ(find(1, policy()), nullptr);
}

TEST_F(FeatureStoreTest, EverybodyCanBeForgotten) {
  (void)put(1, policy());
  (void)store_->store(test_key(2), kBen, test_rows(2), seconds(1), policy());
  disk_->flush();

  const auto forgotten = store_->forget_all();

  ASSERT_TRUE(forgotten);
  EXPECT_EQ(forgotten->n_memory, 2U);
  EXPECT_EQ(forgotten->n_disk, 2U);
  restart();
  EXPECT_EQ(find(1, policy()), nullptr);
  EXPECT_EQ(store_->find(test_key(2), kBen, policy()), nullptr);
}

TEST_F(FeatureStoreTest, AReportSaysWhoHasHowMuchAndForHowLong) {
  (void)put(1, policy());
  (void)put(2, policy(Scope::kTenant, Tier::kMemory));
  (void)store_->store(test_key(3), kBen, test_rows(3), seconds(1), policy());
  disk_->flush();
  clock_.advance(seconds(40));
  EXPECT_NE(find(1, policy()), nullptr);
  clock_.advance(seconds(2));

  const CacheReport report = store_->report();

  ASSERT_EQ(report.tiers.size(), 2U);
  const TierReport& memory = report.tiers[0];
  EXPECT_EQ(memory.tier, "memory");
  EXPECT_EQ(memory.n_entries, 3U);
  EXPECT_EQ(memory.bytes_max, 1'000'000U);
  EXPECT_EQ(memory.oldest_use, seconds(42));
  ASSERT_EQ(memory.tenants.size(), 2U);
  EXPECT_EQ(memory.tenants[0].tenant, "anna");
  EXPECT_EQ(memory.tenants[0].n_entries, 2U);
  EXPECT_EQ(memory.tenants[0].n_hits, 1U);
  EXPECT_EQ(memory.tenants[0].oldest_use, seconds(42));
  EXPECT_EQ(memory.tenants[0].last_use, seconds(2));
  EXPECT_EQ(memory.tenants[1].tenant, "ben");
  EXPECT_EQ(memory.tenants[0].n_bytes + memory.tenants[1].n_bytes, memory.n_bytes);
  const TierReport& disk = report.tiers[1];
  EXPECT_EQ(disk.tier, "disk");
  EXPECT_TRUE(disk.on);
  EXPECT_EQ(disk.n_entries, 2U);
  ASSERT_EQ(disk.tenants.size(), 2U);
  EXPECT_EQ(disk.tenants[0].tenant, "anna");
  EXPECT_EQ(disk.tenants[0].n_entries, 1U);
}

TEST_F(FeatureStoreTest, WithoutADiskMemoryIsEnough) {
  FeatureStore alone({1'000'000, true}, clock_, nullptr, tenants_);
  (void)alone.store(test_key(1), kAnna, test_rows(1), seconds(1), policy());

  EXPECT_NE(alone.find(test_key(1), kAnna, policy()), nullptr);
  EXPECT_EQ(alone.find(test_key(2), kAnna, policy()), nullptr);
  EXPECT_FALSE(alone.disk_stats().on);
  EXPECT_TRUE(alone.forget("anna"));
  EXPECT_EQ(alone.memory_stats().n_entries, 0U);
}

}  // namespace
}  // namespace tessera::cache
