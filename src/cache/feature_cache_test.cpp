#include "cache/feature_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

#include "cache/half_floats.h"

namespace tessera::cache {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Digest key_of(int i) {
  Digest key;
  for (std::size_t k = 0; k < 8; ++k) {
    key.bytes[k] =
        static_cast<std::uint8_t>((static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15U) >> (8 * k));
  }
  return key;
}

/// 64 tokens of 16 floats: 2 KiB as halves, 4 KiB as floats.
Embedding rows_of(float value) {
  Embedding embedding;
  embedding.n_tokens = 64;
  embedding.row_width = 16;
  embedding.rows.assign(1024, value);
  return embedding;
}

class FeatureCacheTest : public ::testing::Test {
 protected:
  void open(std::size_t bytes_max, bool half = true) {
    cache_ = std::make_unique<FeatureCache>(FeatureCacheOptions{bytes_max, half}, clock_);
  }

  void put(int i, Duration cost = seconds(1), TenantId tenant = {},
           std::optional<Duration> time_to_live = {}) {
    (void)cache_->store(key_of(i), tenant, rows_of(static_cast<float>(i)), cost, true,
                        time_to_live);
  }
  bool has(int i) { return cache_->find(key_of(i)) != nullptr; }

  ManualClock clock_;
  std::unique_ptr<FeatureCache> cache_;
};

TEST_F(FeatureCacheTest, GivesBackExactlyWhatStoreGave) {
  for (const bool half : {false, true}) {
    open(1'000'000, half);
    Embedding embedding = rows_of(0);
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 4);
    for (float& value : embedding.rows) value = normal(random);
    const Embedding original = embedding;

    const auto stored = cache_->store(key_of(1), {}, std::move(embedding), seconds(1), true);
    const auto found = cache_->find(key_of(1));

    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->rows, stored->rows);
    EXPECT_EQ(found->n_tokens, 64);
    EXPECT_EQ(found->row_width, 16);
    EXPECT_EQ(stored->rows == original.rows, !half);
  }
}

TEST_F(FeatureCacheTest, ValuesAreTheSameWhetherKeptOrNot) {
  open(1'000'000);
  const auto kept = cache_->store(key_of(1), {}, rows_of(0.1F), seconds(1), true);
  const auto passed = cache_->store(key_of(2), {}, rows_of(0.1F), seconds(1), false);

  EXPECT_EQ(kept->rows, passed->rows);
  EXPECT_TRUE(has(1));
  EXPECT_FALSE(has(2));
}

TEST_F(FeatureCacheTest, WhatNoHalfHoldsIsKeptAsItIs) {
  open(1'000'000);
  Embedding embedding = rows_of(0.1F);
  embedding.rows[5] = 1e6F;
  const Embedding original = embedding;

  const auto stored = cache_->store(key_of(1), {}, std::move(embedding), seconds(1), true);

  EXPECT_EQ(stored->rows, original.rows);
  EXPECT_EQ(cache_->find(key_of(1))->rows, original.rows);
}

TEST_F(FeatureCacheTest, StaysInsideItsBudgetAndCountsWhatLeaves) {
  open(10'000);
  for (int i = 0; i < 100; ++i) {
    put(i);
    ASSERT_LE(cache_->stats().n_bytes, 10'000U);
  }
  const FeatureCacheStats stats = cache_->stats();

  EXPECT_EQ(stats.n_entries, 3U);  // of 2048 + 512 bytes
  EXPECT_EQ(stats.n_evicted, 97U);
}

TEST_F(FeatureCacheTest, WhatIsUsedStaysAndWhatIsNotGoes) {
  open(8'000);  // three
  put(1);
  put(2);
  put(3);
  EXPECT_TRUE(has(1));
  put(4);  // raises the age: 2 or 3 go
  EXPECT_TRUE(has(1));
  put(5);
  EXPECT_TRUE(has(1));
  put(6);

  EXPECT_TRUE(has(1));
}

TEST_F(FeatureCacheTest, WhatIsDearStaysLongerThanWhatIsCheap) {
  open(8'000);
  put(1, seconds(100));
  for (int i = 2; i < 40; ++i) put(i, seconds(1));
  EXPECT_TRUE(has(1));

  for (int i = 40; i < 400; ++i) put(i, seconds(1));
  EXPECT_FALSE(has(1)) << "but not for ever";
}

TEST_F(FeatureCacheTest, AnEntryAboveTheWholeBudgetDrivesNothingOut) {
  open(3'000);
  put(1);
  Embedding large = rows_of(2);
  large.rows.resize(100'000);

  const auto stored = cache_->store(key_of(2), {}, std::move(large), seconds(1), true);

  EXPECT_NE(stored, nullptr);
  EXPECT_FALSE(has(2));
  EXPECT_TRUE(has(1));
}

TEST_F(FeatureCacheTest, EntriesExpire) {
  open(1'000'000);
  put(1, seconds(1), {}, seconds(10));
  put(2);
  clock_.advance(seconds(9));
  EXPECT_TRUE(has(1));

  clock_.advance(seconds(1));

  EXPECT_EQ(cache_->stats().n_entries, 1U) << "nobody has to ask for it";
  EXPECT_FALSE(has(1));
  EXPECT_TRUE(has(2));
  EXPECT_EQ(cache_->stats().n_expired, 1U);
}

TEST_F(FeatureCacheTest, ATenantCanBeForgotten) {
  open(1'000'000);
  put(1, seconds(1), TenantId{1});
  put(2, seconds(1), TenantId{2});
  put(3, seconds(1), TenantId{1});

  EXPECT_EQ(cache_->forget(TenantId{1}), 2U);

  EXPECT_FALSE(has(1));
  EXPECT_TRUE(has(2));
  EXPECT_FALSE(has(3));
  EXPECT_EQ(cache_->stats().n_forgotten, 2U);
}

TEST_F(FeatureCacheTest, CountsHitsMissesAndWhatTheySaved) {
  open(1'000'000);
  put(1, milliseconds(250));
  EXPECT_TRUE(has(1));
  EXPECT_TRUE(has(1));
  EXPECT_FALSE(has(2));
  const FeatureCacheStats stats = cache_->stats();

  EXPECT_EQ(stats.n_hits, 2U);
  EXPECT_EQ(stats.n_misses, 1U);
  EXPECT_EQ(stats.saved, milliseconds(500));
}

TEST_F(FeatureCacheTest, WithoutABudgetNothingIsKept) {
  open(0);
  put(1);

  EXPECT_FALSE(has(1));
}

TEST_F(FeatureCacheTest, HitRateOfAZipfLoadIsThatOfAFullRankCache) {
  // 64 of 200 images fit, Zipf 1.0: what always holds the 64 most wanted hits
  // H(64) / H(200) = 0.81 of the time; least-recently-used reaches 0.71 (Che's approximation).
  open(64 * (2048 + 512));
  std::vector<double> weights;
  for (int i = 1; i <= 200; ++i) weights.push_back(1.0 / i);
  std::discrete_distribution<int> image(weights.begin(), weights.end());
  std::mt19937 random(1);
  int n_hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    const int wanted = image(random);
    if (has(wanted)) {
      ++n_hits;
    } else {
      put(wanted);
    }
  }

  EXPECT_NEAR(n_hits / 10'000.0, 0.71, 0.03);
}

TEST_F(FeatureCacheTest, ManyThreadsMayUseIt) {
  open(20'000);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 500; ++i) {
        put((i * 7 + t) % 20);
        if (const auto found = cache_->find(key_of(i % 20))) {
          EXPECT_EQ(found->rows.front(), static_cast<float>(i % 20));
        }
      }
    });
  }
  threads.clear();

  EXPECT_LE(cache_->stats().n_bytes, 20'000U);
}

TEST_F(FeatureCacheTest, EverybodyCanBeForgotten) {
  open(1'000'000);
  put(1, seconds(1), TenantId{1});
  put(2, seconds(1), TenantId{2});

  EXPECT_EQ(cache_->forget_all(), 2U);

  EXPECT_FALSE(has(1));
  EXPECT_FALSE(has(2));
  EXPECT_EQ(cache_->stats().n_forgotten, 2U);
  EXPECT_EQ(cache_->stats().n_bytes, 0U);
  EXPECT_EQ(cache_->n_forgets(), 1U);
}

TEST_F(FeatureCacheTest, AgesAreTimesSinceTheLastUse) {
  open(8'000);  // three
  EXPECT_EQ(cache_->stats().oldest_use, std::nullopt);
  put(1);
  clock_.advance(seconds(10));
  put(2);
  put(3);
  EXPECT_EQ(cache_->stats().oldest_use, seconds(10));
  EXPECT_TRUE(has(1));
  clock_.advance(seconds(5));
  EXPECT_EQ(cache_->stats().oldest_use, seconds(5));

  put(4);  // 2 goes, which nobody used for five seconds
  EXPECT_EQ(cache_->stats().evicted_age, seconds(5));
  clock_.advance(seconds(1));
  put(5);
  EXPECT_EQ(cache_->stats().evicted_age, seconds(5 + 6));
}

TEST_F(FeatureCacheTest, KnowsWhoseEntriesAreHere) {
  open(1'000'000);
  put(1, seconds(1), TenantId{1});
  clock_.advance(seconds(10));
  put(2, seconds(1), TenantId{1});
  put(3, seconds(1), TenantId{2});
  EXPECT_TRUE(has(2));
  EXPECT_TRUE(has(2));
  clock_.advance(seconds(3));

  auto all = cache_->by_tenant();

  ASSERT_EQ(all.size(), 2U);
  const TenantUse& first = all[TenantId{1}];
  EXPECT_EQ(first.n_entries, 2U);
  EXPECT_EQ(first.n_bytes, 2U * 2560U);
  EXPECT_EQ(first.n_hits, 2U);
  EXPECT_EQ(first.oldest_use, seconds(13));
  EXPECT_EQ(first.last_use, seconds(3));
  EXPECT_EQ(all[TenantId{2}].n_hits, 0U);
}

}  // namespace
}  // namespace tessera::cache
