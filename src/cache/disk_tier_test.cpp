#include "cache/disk_tier.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "cache/test_folder.h"

namespace tessera::cache {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TenantId kAnna{1};
constexpr TenantId kBen{2};
constexpr std::size_t kEntry = 4096 + 512;  // disk_bytes() of test_rows()

class DiskTierTest : public ::testing::Test {
 protected:
  DiskTierTest() { open(); }

  Result<std::unique_ptr<DiskTier>> try_open() {
    DiskTierOptions options;
    options.folder = folder_.path();
    options.bytes_max = bytes_max_;
    options.tenants = tenants_;
    return DiskTier::open(std::move(options), [this] { return now_.load(); });
  }
  void open() {
    tier_.reset();
    tier_ = try_open().value();
  }

  void put(int i, TenantId tenant = kAnna, std::optional<Duration> time_to_live = {}) {
    tier_->store(test_key(i), tenant, std::make_shared<const Embedding>(test_rows(i)),
                 milliseconds(250), time_to_live);
    tier_->flush();
  }
  /// False = a miss; what is found has to be right.
  bool has(int i, TenantId tenant = kAnna) {
    const auto found = tier_->find(test_key(i), tenant);
    if (!found) return false;
    EXPECT_EQ(found->embedding.rows, test_rows(i).rows);
    EXPECT_EQ(found->embedding.n_tokens, 8);
    EXPECT_EQ(found->cost, milliseconds(250));
    return true;
  }

  TestFolder folder_;
  std::atomic<std::int64_t> now_{1'800'000'000};
  std::size_t bytes_max_ = 1'000'000;
  TenantNames tenants_{{"", "anna", "ben"}};
  std::unique_ptr<DiskTier> tier_;
};

TEST_F(DiskTierTest, FindsWhatWasStoredBeforeAndAfterARestart) {
  put(1);
  EXPECT_TRUE(has(1));
  EXPECT_FALSE(has(2));
  open();

  EXPECT_TRUE(has(1));
  EXPECT_FALSE(has(2));
  const DiskTierStats stats = tier_->stats();
  EXPECT_EQ(stats.n_hits, 1U);
  EXPECT_EQ(stats.n_misses, 1U);
  EXPECT_EQ(stats.saved, milliseconds(250));
  EXPECT_EQ(stats.n_entries, 1U);
  EXPECT_EQ(stats.n_bytes, kEntry);
  EXPECT_TRUE(stats.on);
}

TEST_F(DiskTierTest, WhatIsQueuedWhenItStopsIsWritten) {
  for (int i = 0; i < 20; ++i) {
    tier_->store(test_key(i), kAnna, std::make_shared<const Embedding>(test_rows(i)),
                 milliseconds(250), {});
  }
  open();

  for (int i = 0; i < 20; ++i) EXPECT_TRUE(has(i)) << i;
}

TEST_F(DiskTierTest, FloatsThatNoHalfHoldsComeBackAsTheyAre) {
  Embedding embedding = test_rows(1);
  embedding.rows[5] = 1e20F;
  tier_->store(test_key(1), kAnna, std::make_shared<const Embedding>(embedding), seconds(1), {});
  open();

  EXPECT_EQ(tier_->find(test_key(1), kAnna)->embedding.rows, embedding.rows);
}

TEST_F(DiskTierTest, AnotherTenantFindsNothing) {
  put(1);

  EXPECT_FALSE(has(1, kBen));
  EXPECT_FALSE(has(1, TenantId{0}));
  EXPECT_FALSE(has(1, TenantId{77}));
  EXPECT_TRUE(has(1)) << "and what it is not given is not removed";
}

TEST_F(DiskTierTest, AnotherTenantCannotOpenAFileThatIsPutIntoItsFolder) {
  put(1);
  put(2, kBen);
  fs::path annas;
  fs::path bens;
  for (const fs::path& file : folder_.entries()) {
    (file.filename().string().starts_with("01") ? annas : bens) = file;
  }
  fs::copy_file(annas, bens.parent_path() / annas.filename());
  fs::remove(annas);
  open();

  EXPECT_FALSE(has(1, kBen));
  EXPECT_EQ(tier_->stats().n_unreadable, 1U);
}

TEST_F(DiskTierTest, ATenantKeepsItsFeaturesWhenTheKeyFileChangesAround) {
  put(1, kAnna);
  tenants_ = TenantNames({"", "carl", "ben", "anna"});
  open();

  EXPECT_FALSE(has(1, kAnna)) << "carl now";
  EXPECT_TRUE(has(1, TenantId{3}));
}

TEST_F(DiskTierTest, AForgottenTenantIsUnreadableAtOnceAndForEver) {
  put(1);
  put(2);
  put(3, kBen);
  const fs::path one = folder_.entries().front();
  ASSERT_TRUE(tier_->forget(kAnna));

  EXPECT_FALSE(has(1));
  EXPECT_FALSE(has(2));
  EXPECT_TRUE(has(3, kBen));
  tier_->flush();
  EXPECT_EQ(folder_.entries().size(), 1U) << "its space is given back";
  EXPECT_EQ(tier_->stats().n_forgotten, 2U);
  put(1);
  EXPECT_TRUE(has(1)) << "it may come again";
}

TEST_F(DiskTierTest, WhatIsLeftOfAForgottenTenantDoesNotOpenAndIsRemovedAtTheNextStart) {
  put(1);
  const fs::path file = folder_.entries().front();
  const std::string bytes = read_file(file);
  ASSERT_TRUE(tier_->forget(kAnna));
  tier_.reset();
  write_file(file, bytes);  // as if the process had died before it was removed
  open();
  EXPECT_FALSE(has(1));
  tier_->flush();
  EXPECT_TRUE(folder_.entries().empty());

  put(2);  // a new salt
  tier_.reset();
  write_file(file, bytes);
  open();
  EXPECT_FALSE(has(1));
}

TEST_F(DiskTierTest, WhatWasQueuedBeforeItsTenantWasForgottenIsNotKept) {
  for (int round = 0; round < 50; ++round) {
    tier_->store(test_key(round), kAnna, std::make_shared<const Embedding>(test_rows(round)),
                 milliseconds(250), {});
    ASSERT_TRUE(tier_->forget(kAnna));
    tier_->flush();
    EXPECT_FALSE(has(round));
    EXPECT_EQ(tier_->stats().n_entries, 0U);
  }
  open();
  EXPECT_EQ(tier_->stats().n_entries, 0U);
}

TEST_F(DiskTierTest, TimesToLiveGoOnWhileNobodyRuns) {
  put(1, kAnna, seconds(100));
  put(2);
  now_ += 99;
  EXPECT_EQ(tier_->find(test_key(1), kAnna)->time_to_live, seconds(1));
  EXPECT_FALSE(tier_->find(test_key(2), kAnna)->time_to_live);
  open();
  EXPECT_TRUE(has(1));
  tier_.reset();
  now_ += 1;
  open();

  EXPECT_FALSE(has(1));
  EXPECT_TRUE(has(2));
  EXPECT_EQ(tier_->stats().n_expired, 1U);
  tier_->flush();
  EXPECT_EQ(folder_.entries().size(), 1U) << "nobody has to ask for it";
}

TEST_F(DiskTierTest, ATimeToLiveCannotBeExtendedByANewName) {
  put(1, kAnna, seconds(100));
  tier_.reset();
  const fs::path file = folder_.entries().front();
  fs::rename(file, file.parent_path() / (file.filename().string().substr(0, 64) + ".0"));
  open();
  EXPECT_EQ(tier_->stats().n_entries, 1U);

  EXPECT_FALSE(has(1));
  EXPECT_EQ(tier_->stats().n_unreadable, 1U);
}

TEST_F(DiskTierTest, StaysInsideItsBudgetAndKeepsWhatIsUsed) {
  bytes_max_ = 3 * kEntry;
  open();
  put(0);
  for (int i = 1; i < 30; ++i) {
    put(i);
    EXPECT_TRUE(has(0)) << i;
    EXPECT_LE(tier_->stats().n_bytes, bytes_max_);
    EXPECT_LE(folder_.entries().size(), 3U);
  }

  EXPECT_EQ(tier_->stats().n_evicted, 27U);
}

TEST_F(DiskTierTest, AfterARestartWhatWasUsedLongestAgoGoesFirst) {
  for (int i = 1; i <= 4; ++i) put(i);
  // File times are coarse: make them tell.
  const auto now = fs::file_time_type::clock::now();
  for (const fs::path& file : folder_.entries()) {
    const bool is_third = file.filename().string().starts_with("03");
    fs::last_write_time(file, now - std::chrono::hours(is_third ? 100 : 50));
  }
  EXPECT_TRUE(has(1));  // now
  tier_.reset();
  bytes_max_ = 3 * kEntry;
  open();
  EXPECT_FALSE(has(3));
  put(5);
  EXPECT_TRUE(has(1));
  tier_.reset();
  bytes_max_ = 0;
  open();

  EXPECT_EQ(tier_->stats().n_entries, 0U);
  tier_->flush();
  EXPECT_TRUE(folder_.entries().empty());
}

TEST_F(DiskTierTest, AnEntryLargerThanTheBudgetOrWithoutRowsIsNotKept) {
  put(1);
  tier_->store(test_key(2), kAnna, std::make_shared<const Embedding>(test_rows(2, 20'000)), {}, {});
  tier_->store(test_key(3), kAnna, std::make_shared<const Embedding>(), {}, {});
  Embedding odd = test_rows(4);
  odd.rows.pop_back();
  tier_->store(test_key(4), kAnna, std::make_shared<const Embedding>(odd), {}, {});
  tier_->flush();

  EXPECT_EQ(tier_->stats().n_entries, 1U);
  EXPECT_TRUE(has(1));
}

TEST_F(DiskTierTest, AFileThatIsCutAnywhereIsAMissAndRemoved) {
  put(1);
  tier_.reset();
  const fs::path file = folder_.entries().front();
  const std::string whole = read_file(file);
  for (std::size_t n_bytes = 0; n_bytes < whole.size(); n_bytes += 64) {
    write_file(file, whole.substr(0, n_bytes));
    open();
    ASSERT_FALSE(has(1)) << n_bytes;
    tier_->flush();
    ASSERT_TRUE(folder_.entries().empty());
    ASSERT_TRUE(tier_->stats().on);
    tier_.reset();
  }
  write_file(file, whole);
  open();
  EXPECT_TRUE(has(1));
}

TEST_F(DiskTierTest, AFileWithAByteChangedIsAMissWhileTheTierIsOpen) {
  put(1);
  const fs::path file = folder_.entries().front();
  const std::string whole = read_file(file);
  for (std::size_t i = 0; i < whole.size(); i += 7) {
    std::string changed = whole;
    changed[i] ^= 0x10;
    write_file(file, changed);
    ASSERT_FALSE(has(1)) << i;
    put(1);
    ASSERT_TRUE(has(1)) << i;
  }
}

TEST_F(DiskTierTest, FilesThatAreGoneAreMisses) {
  put(1);
  fs::remove(folder_.entries().front());

  EXPECT_FALSE(has(1));
  EXPECT_TRUE(tier_->stats().on);
  EXPECT_EQ(tier_->stats().n_entries, 0U);
}

TEST_F(DiskTierTest, ForeignFilesAreLeftAloneAndDoNoHarm) {
  put(1);
  const fs::path ours = folder_.entries().front();
  const fs::path tenant = ours.parent_path();
  const std::string key(64, 'a');
  tier_.reset();
  write_file(tenant / "notes.txt", "x");
  write_file(tenant / (key + ".0"), "no entry at all");
  fs::create_directory(tenant / (std::string(64, 'b') + ".0"));
  ASSERT_EQ(::mkfifo((tenant / (std::string(64, 'c') + ".0")).c_str(), 0600), 0);
  fs::create_symlink(ours, tenant / (std::string(64, 'd') + ".0"));
  fs::create_directory(tenant.parent_path() / ("t-" + std::string(32, '0')));
  fs::create_directory(tenant.parent_path() / "t-other");
  write_file(tenant.parent_path() / "other", "x");
  open();

  Digest foreign;
  foreign.bytes.fill(0xAA);
  EXPECT_FALSE(tier_->find(foreign, kAnna));
  for (const int byte : {0xBB, 0xCC, 0xDD}) {
    foreign.bytes.fill(static_cast<std::uint8_t>(byte));
    EXPECT_FALSE(tier_->find(foreign, kAnna));
  }
  EXPECT_TRUE(has(1));
  EXPECT_TRUE(tier_->stats().on);
  EXPECT_TRUE(fs::exists(tenant / "notes.txt"));
  EXPECT_TRUE(fs::exists(tenant.parent_path() / "other"));
}

TEST_F(DiskTierTest, WithAnotherSecretEverythingIsAMiss) {
  put(1);
  const auto key = tier_->key_secret().bytes();
  tier_.reset();
  const fs::path secret = folder_.path() / "features-1" / "secret";
  write_file(secret, std::string(32, 'x'));
  open();

  EXPECT_FALSE(has(1));
  EXPECT_NE(tier_->key_secret().bytes(), key);
  EXPECT_TRUE(tier_->stats().on);
}

TEST_F(DiskTierTest, TheSecretMayLieElsewhere) {
  tier_.reset();
  TestFolder elsewhere;
  DiskTierOptions options;
  options.folder = folder_.path() / "cache";
  options.secret_file = elsewhere.path() / "secret";
  options.bytes_max = bytes_max_;
  options.tenants = tenants_;
  tier_ = DiskTier::open(options).value();
  put(1);
  const auto key = tier_->key_secret().bytes();
  tier_.reset();
  tier_ = DiskTier::open(options).value();

  EXPECT_TRUE(has(1));
  EXPECT_EQ(tier_->key_secret().bytes(), key);
  EXPECT_TRUE(fs::exists(elsewhere.path() / "secret"));
  EXPECT_FALSE(fs::exists(folder_.path() / "cache" / "features-1" / "secret"));
}

TEST_F(DiskTierTest, TwoCannotHaveOneFolder) {
  const auto second = try_open();

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().reason, "cache_dir_in_use");
  tier_.reset();
  EXPECT_TRUE(try_open());
}

TEST_F(DiskTierTest, AFolderThatCannotBeMadeIsAnError) {
  DiskTierOptions options;
  options.folder = folder_.path() / "no" / "folder";
  const auto tier = DiskTier::open(options);

  ASSERT_FALSE(tier);
  EXPECT_EQ(tier.error().reason, "cache_dir_unusable");
}

TEST_F(DiskTierTest, ManyThreadsMayUseIt) {
  bytes_max_ = 8 * kEntry;
  open();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 200; ++i) {
        const TenantId tenant = t % 2 == 0 ? kAnna : kBen;
        // A key has its tenant inside.
        const int n = 2 * ((i * 7 + t) % 10) + t % 2;
        tier_->store(test_key(n), tenant, std::make_shared<const Embedding>(test_rows(n)),
                     milliseconds(250), {});
        (void)has(n, tenant);
        if (i % 50 == 49) {
          EXPECT_TRUE(tier_->forget(tenant));
        }
      }
    });
  }
  threads.clear();
  tier_->flush();

  EXPECT_TRUE(tier_->stats().on);
  EXPECT_LE(tier_->stats().n_bytes, bytes_max_);
  EXPECT_EQ(folder_.entries().size(), tier_->stats().n_entries);
}

}  // namespace
}  // namespace tessera::cache
