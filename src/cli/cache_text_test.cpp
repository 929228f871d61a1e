#include "cli/cache_text.h"

#include <gtest/gtest.h>

#include "metrics/golden_file.h"

namespace tessera::cli {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

pipeline::TenantUse use(std::string tenant, std::size_t n_entries, std::size_t n_bytes,
                        std::uint64_t n_hits, Duration last_use) {
  pipeline::TenantUse use;
  use.tenant = std::move(tenant);
  use.n_entries = n_entries;
  use.n_bytes = n_bytes;
  use.n_hits = n_hits;
  use.last_use = last_use;
  return use;
}

pipeline::CacheReport report() {
  pipeline::TierReport memory;
  memory.tier = "memory";
  memory.n_entries = 312;
  memory.n_bytes = 5'900'000;
  memory.bytes_max = 512 << 20;
  memory.n_hits = 12'345;
  memory.n_misses = 678;
  memory.saved = milliseconds(987'650);
  memory.oldest_use = hours(3) + minutes(12);
  memory.n_evicted = 40;
  memory.tenants = {use("alice", 300, 5'700'000, 12'000, seconds(4)),
                    use("key:0123456789abcdef", 12, 200'000, 345, minutes(70))};
  pipeline::TierReport disk;
  disk.tier = "disk";
  disk.on = false;
  disk.n_errors = 1;
  disk.tenants = {use("folder:t-00112233445566778899aabbccddeeff", 1, 4608, 0, hours(80))};
  return {{memory, disk}};
}

TEST(CacheText, StatsAreATableOfTiers) {
  test_support::expect_matches_file(cache_stats_text(report(), false),
                                    "src/cli/testdata/cache_stats.txt");
}

TEST(CacheText, TheListIsATableOfTenants) {
  test_support::expect_matches_file(cache_list_text(report(), false),
                                    "src/cli/testdata/cache_list.txt");
}

TEST(CacheText, AFolderHasNoCounts) {
  const std::string stats = cache_stats_text(report(), true);
  EXPECT_EQ(stats.find("hits"), std::string::npos);
  EXPECT_NE(stats.find("entries"), std::string::npos);
  EXPECT_EQ(cache_list_text(report(), true).find("12000"), std::string::npos);
  EXPECT_EQ(cache_list_text({}, true), "  nothing is in the cache\n");
}

TEST(CacheText, OneTenantCanBePickedOut) {
  const auto picked = of_tenant(report(), "alice");
  EXPECT_EQ(picked.tiers[0].tenants.size(), 1U);
  EXPECT_TRUE(picked.tiers[1].tenants.empty());
  EXPECT_EQ(of_tenant(report(), std::nullopt).tiers[0].tenants.size(), 2U);
}

TEST(CacheText, APurgeSaysHowMuchIsGone) {
  EXPECT_EQ(purge_text({3, 5}, "alice"), "alice: purged 3 in memory and 5 on disk\n");
  EXPECT_EQ(purge_text({0, 5}, std::nullopt), "everybody: purged 0 in memory and 5 on disk\n");
}

TEST(CacheText, AgesHaveTwoUnitsAtMost) {
  EXPECT_EQ(age_text(milliseconds(900)), "0 s");
  EXPECT_EQ(age_text(seconds(59)), "59 s");
  EXPECT_EQ(age_text(minutes(59)), "59 min");
  EXPECT_EQ(age_text(minutes(60)), "1 h 0 min");
  EXPECT_EQ(age_text(hours(49)), "2 d 1 h");
}

}  // namespace
}  // namespace tessera::cli
