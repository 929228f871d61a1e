#include "cache/feature_store.h"

#include <gtest/gtest.h>

#include "cache/test_folder.h"

namespace tessera::cache {
namespace {

using std::chrono::seconds;
using Scope = CachePolicy::Scope;
using Tier = CachePolicy::Tier;

constexpr TenantId kAnna{1};

class FeatureStoreTest : public ::testing::Test {
 protected:
  FeatureStoreTest() { restart(); }

  void restart() {
    store_.reset();
    disk_.reset();
    DiskTierOptions options;
    options.folder = folder_.path();
    options.bytes_max = 1'000'000;
    disk_ = DiskTier::open(std::move(options), [this] { return now_; }).value();
    store_ =
        std::make_unique<FeatureStore>(FeatureCacheOptions{1'000'000, true}, clock_, disk_.get());
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
  ASSERT_TRUE(store_->forget(kAnna));

  EXPECT_EQ(find(1, policy()), nullptr);
  restart();
  EXPECT_EQ(find(1, policy()), nullptr);
}

TEST_F(FeatureStoreTest, WithoutADiskMemoryIsEnough) {
  FeatureStore alone({1'000'000, true}, clock_);
  (void)alone.store(test_key(1), kAnna, test_rows(1), seconds(1), policy());

  EXPECT_NE(alone.find(test_key(1), kAnna, policy()), nullptr);
  EXPECT_EQ(alone.find(test_key(2), kAnna, policy()), nullptr);
  EXPECT_FALSE(alone.disk_stats().on);
  EXPECT_TRUE(alone.forget(kAnna));
  EXPECT_EQ(alone.memory_stats().n_entries, 0U);
}

}  // namespace
}  // namespace tessera::cache
