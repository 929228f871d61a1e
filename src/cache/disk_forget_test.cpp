#include <gtest/gtest.h>

#include "cache/test_folder.h"

namespace tessera::cache {
namespace {

using std::chrono::seconds;

constexpr TenantId kAnna{1};
constexpr TenantId kBen{2};

class DiskForgetTest : public ::testing::Test {
 protected:
  DiskForgetTest() { open(); }

  void open() {
    tier_.reset();
    DiskTierOptions options;
    options.folder = folder_.path();
    options.bytes_max = 1'000'000;
    options.tenants = tenants_;
    tier_ = DiskTier::open(std::move(options), [this] { return now_; }).value();
  }
  void put(int i, TenantId tenant) {
    tier_->store(test_key(i), tenant, std::make_shared<const Embedding>(test_rows(i)), seconds(1),
                 {});
    tier_->flush();
  }
  bool has(int i, TenantId tenant) { return tier_->find(test_key(i), tenant).has_value(); }

  TestFolder folder_;
  std::int64_t now_ = DiskTier::system_seconds();
  TenantNames tenants_{{"everyone", "name:anna", "name:ben"}};
  std::unique_ptr<DiskTier> tier_;
};

TEST_F(DiskForgetTest, KnowsWhoHasSomethingHereFromThisStartOrAnEarlierOne) {
  put(1, kAnna);
  EXPECT_TRUE(tier_->knows(tier_->folder(kAnna)));
  EXPECT_FALSE(tier_->knows(tier_->folder(kBen)));
  open();

  EXPECT_TRUE(tier_->knows(tier_->folder("name name:anna")));
  EXPECT_FALSE(tier_->knows(tier_->folder(kBen)));
}

TEST_F(DiskForgetTest, ATenantThatNobodyHasSeenSinceTheStartIsForgotten) {
  put(1, kAnna);
  put(2, kBen);
  open();

  const auto n_entries = tier_->forget(kAnna);

  ASSERT_TRUE(n_entries);
  EXPECT_EQ(*n_entries, 1U);
  EXPECT_FALSE(tier_->knows(tier_->folder(kAnna)));
  open();
  EXPECT_FALSE(has(1, kAnna));
  EXPECT_TRUE(has(2, kBen));
}

TEST_F(DiskForgetTest, EverybodyIsForgotten) {
  put(1, kAnna);
  open();
  put(2, kBen);

  const auto n_entries = tier_->forget_all();

  ASSERT_TRUE(n_entries);
  EXPECT_EQ(*n_entries, 2U);
  tier_->flush();
  EXPECT_TRUE(folder_.entries().empty());
  EXPECT_FALSE(has(1, kAnna));
  EXPECT_FALSE(has(2, kBen));
}

TEST_F(DiskForgetTest, SaysWhoHasHowMuch) {
  put(1, kAnna);
  put(2, kAnna);
  put(3, kBen);
  EXPECT_TRUE(has(1, kAnna));
  now_ += 60;

  auto all = tier_->by_tenant();

  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[tier_->folder(kAnna)].n_entries, 2U);
  EXPECT_EQ(all[tier_->folder(kAnna)].n_hits, 1U);
  EXPECT_EQ(all[tier_->folder(kAnna)].oldest_use, seconds(60));
  EXPECT_EQ(all[tier_->folder(kBen)].n_hits, 0U);
  EXPECT_EQ(tier_->stats().oldest_use, seconds(60));
}

}  // namespace
}  // namespace tessera::cache
