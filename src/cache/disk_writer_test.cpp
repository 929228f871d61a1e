// What the disk tier does when its writes fail, stop, or are too many.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <future>

#include "cache/disk_tier.h"
#include "cache/test_folder.h"

namespace tessera::cache {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Fault = FaultyFiles::Fault;

constexpr TenantId kAnna{1};
constexpr TenantId kBen{2};
constexpr std::size_t kEntry = 4096 + 512;
const SecretKey kSecret({1, 2, 3});

DiskTierOptions options_of(const fs::path& folder, std::size_t bytes_max) {
  DiskTierOptions options;
  options.folder = folder;
  options.bytes_max = bytes_max;
  options.tenants = TenantNames({"", "anna", "ben"});
  return options;
}

class DiskWriterTest : public ::testing::Test {
 protected:
  void open(const fs::path& folder) {
    auto files = FaultyFiles::open(folder);
    files_ = files.get();
    tier_ =
        DiskTier::open(
            options_of(folder, 4 * kEntry), [] { return 1'800'000'000; }, std::move(files), kSecret)
            .value();
  }
  void store(int i, TenantId tenant = kAnna) {
    tier_->store(test_key(i), tenant, std::make_shared<const Embedding>(test_rows(i)), seconds(1),
                 seconds(1000));
  }
  void put(int i) {
    store(i);
    tier_->flush();
  }
  bool has(int i, TenantId tenant = kAnna) {
    const auto found = tier_->find(test_key(i), tenant);
    if (found) {
      EXPECT_EQ(found->embedding.rows, test_rows(i).rows);
    }
    return found.has_value();
  }

  /// Makes folders, salts and entries, replaces, evicts and forgets: every step there is.
  void do_everything() {
    for (int i = 0; i < 6; ++i) store(i, i % 2 == 0 ? kAnna : kBen);
    tier_->flush();
    (void)has(4);
    forgotten_ = tier_->forget(kBen).has_value();
    store(7, kBen);
    store(8);
    tier_->flush();
  }

  /// Nothing wrong is found; what is there is counted.
  int n_found() {
    int n = 0;
    for (int i = 0; i < 10; ++i) n += (has(i, kAnna) ? 1 : 0) + (has(i, kBen) ? 1 : 0);
    return n;
  }

  FaultyFiles* files_ = nullptr;
  bool forgotten_ = false;
  std::unique_ptr<DiskTier> tier_;
};

TEST_F(DiskWriterTest, NoFaultAtAnyStepEverGivesAWrongFeature) {
  int n_steps = 0;
  {
    const TestFolder folder;
    open(folder.path());
    do_everything();
    EXPECT_EQ(n_found(), 4);
    n_steps = files_->n_steps();
    tier_.reset();
  }
  EXPECT_GT(n_steps, 30);
  struct Accident {
    Fault fault;
    double kept;  // of what was never synced
  };
  for (const auto [fault, kept] :
       {Accident{Fault::kError, 1}, Accident{Fault::kDiskFull, 1}, Accident{Fault::kCrash, 1},
        Accident{Fault::kCrash, 0.5}, Accident{Fault::kCrash, 0}}) {
    for (int step = 1; step <= n_steps; ++step) {
      const TestFolder folder;
      open(folder.path());
      files_->fail_at(step, fault);
      do_everything();
      EXPECT_EQ(tier_->stats().on, !files_->has_failed());
      EXPECT_EQ(n_found() > 0, !files_->has_failed());
      tier_->shutdown();
      files_->lose_unsynced(kept);
      tier_.reset();

      open(folder.path());
      (void)n_found();
      if (forgotten_) {
        EXPECT_FALSE(has(1, kBen) || has(3, kBen) || has(5, kBen)) << step;
      }
      EXPECT_TRUE(tier_->stats().on);
      EXPECT_LE(tier_->stats().n_bytes, 4 * kEntry);
      // And it works again.
      put(9);
      EXPECT_TRUE(has(9)) << "step " << step;
      EXPECT_LE(folder.entries().size(), 4U);
    }
  }
}

TEST_F(DiskWriterTest, AFullDiskTurnsTheTierOffWithOneWarning) {
  const TestFolder folder;
  open(folder.path());
  put(1);
  files_->fail_at(1, Fault::kDiskFull);
  ::testing::internal::CaptureStderr();
  for (int i = 2; i < 10; ++i) put(i);
  const bool is_found = has(1);
  const std::string log = ::testing::internal::GetCapturedStderr();

  EXPECT_FALSE(is_found);
  EXPECT_FALSE(tier_->stats().on);
  EXPECT_EQ(tier_->stats().n_errors, 1U);
  EXPECT_NE(log.find("warning feature_disk_off code=resource_exhausted disk_full=1"),
            std::string::npos)
      << log;
  EXPECT_EQ(log.find("feature_disk_off"), log.rfind("feature_disk_off")) << log;
  tier_.reset();
  open(folder.path());
  EXPECT_TRUE(has(1));
}

TEST_F(DiskWriterTest, ADiskThatCannotBeReadTurnsTheTierOff) {
  const TestFolder folder;
  open(folder.path());
  put(1);
  files_->fail_reads(true);

  EXPECT_FALSE(has(1));
  EXPECT_FALSE(tier_->stats().on);
  files_->fail_reads(false);
  EXPECT_FALSE(has(1)) << "until the next start";
}

TEST_F(DiskWriterTest, ForgettingSaysWhenItFailed) {
  const TestFolder folder;
  open(folder.path());
  put(1);
  files_->fail_at(1, Fault::kError);

  EXPECT_FALSE(tier_->forget(kAnna));
  EXPECT_FALSE(has(1)) << "but in this process it is forgotten";
}

/// Holds the writer in its n-th file until it is let go.
class HeldFiles final : public DiskFiles {
 public:
  HeldFiles(const fs::path& folder, int n_free)
      : DiskFiles(UniqueFd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))),
        n_free_(n_free) {}

  Result<UniqueFd> create(const std::string& path) override {
    if (n_free_ == 0) {
      reached_.set_value();
      let_go_.get_future().wait();
    }
    --n_free_;
    return DiskFiles::create(path);
  }
  void wait_until_held() { reached_.get_future().wait(); }
  void let_go() { let_go_.set_value(); }

 private:
  int n_free_;
  std::promise<void> reached_;
  std::promise<void> let_go_;
};

class HeldDiskWriterTest : public ::testing::Test {
 protected:
  void open(int n_free, std::size_t writing_bytes_max = kWritingBytesMax) {
    auto files = std::make_unique<HeldFiles>(folder_.path(), n_free);
    files_ = files.get();
    DiskTierOptions options = options_of(folder_.path(), 1'000'000'000);
    options.writing_bytes_max = writing_bytes_max;
    tier_ = DiskTier::open(
                std::move(options), [] { return 1'800'000'000; }, std::move(files), kSecret)
                .value();
  }
  void store(int i, int n_tokens = 8) {
    tier_->store(test_key(i), kAnna, std::make_shared<const Embedding>(test_rows(i, n_tokens)),
                 seconds(1), {});
  }

  TestFolder folder_;
  HeldFiles* files_ = nullptr;
  std::unique_ptr<DiskTier> tier_;
};

TEST_F(HeldDiskWriterTest, WhatIsTooMuchToBeWrittenIsDroppedAndNobodyWaits) {
  open(0);
  store(0);
  files_->wait_until_held();
  const int n_waiting = static_cast<int>(kWritesWaitingMax);
  for (int i = 1; i <= n_waiting + 10; ++i) store(i);
  EXPECT_EQ(tier_->stats().n_dropped, 10U);
  files_->let_go();
  tier_->flush();

  EXPECT_EQ(tier_->stats().n_written, kWritesWaitingMax + 1);
}

TEST_F(HeldDiskWriterTest, RowsThatWaitAreBoundedInBytes) {
  open(0, 10'000);
  store(0);
  files_->wait_until_held();
  for (int i = 1; i <= 12; ++i) store(i);  // 1024 bytes each
  EXPECT_EQ(tier_->stats().n_dropped, 3U);
  files_->let_go();
  tier_->flush();
  store(20, 80);  // ten times that
  EXPECT_EQ(tier_->stats().n_dropped, 4U);
  store(21, 78);
  tier_->flush();

  EXPECT_EQ(tier_->stats().n_written, 11U);
}

TEST_F(HeldDiskWriterTest, WhatIsBeingWrittenWhenItsTenantIsForgottenIsNotKept) {
  open(1);  // the salt
  store(1);
  files_->wait_until_held();
  store(2);
  ASSERT_TRUE(tier_->forget(kAnna));
  files_->let_go();
  tier_->flush();

  EXPECT_EQ(tier_->stats().n_entries, 0U);
  EXPECT_TRUE(folder_.entries().empty());
  EXPECT_FALSE(tier_->find(test_key(1), kAnna));
  EXPECT_FALSE(tier_->find(test_key(2), kAnna));
}

/// In a child: stores as fast as it can and says so, until it is killed.
[[noreturn]] void store_for_ever(const fs::path& folder, int pipe) {
  auto tier = DiskTier::open(options_of(folder, 40 * kEntry), DiskTier::system_seconds,
                             FaultyFiles::open(folder), kSecret);
  for (int i = 0; tier; ++i) {
    const int n = i % 100;
    (*tier)->store(test_key(n), kAnna, std::make_shared<const Embedding>(test_rows(n)), seconds(1),
                   {});
    (*tier)->flush();
    if (i % 37 == 36) (void)(*tier)->forget(kAnna).has_value();
    const char told = 1;
    if (::write(pipe, &told, 1) != 1) break;
  }
  ::_exit(1);
}

TEST(DiskWriter, AProcessThatIsKilledLeavesNothingThatIsWrong) {
  const TestFolder folder;
  int n_found = 0;
  for (int round = 0; round < 12; ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(pipe[0]);
      store_for_ever(folder.path(), pipe[1]);
    }
    ::close(pipe[1]);
    // Another moment each time; the child is somewhere in the next entry.
    for (int i = 0; i < 3 + 7 * round; ++i) {
      char told = 0;
      ASSERT_EQ(::read(pipe[0], &told, 1), 1);
    }
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    ::close(pipe[0]);

    auto tier = DiskTier::open(options_of(folder.path(), 40 * kEntry), DiskTier::system_seconds,
                               FaultyFiles::open(folder.path()), kSecret);
    ASSERT_TRUE(tier) << "the lock died with the child";
    for (int i = 0; i < 100; ++i) {
      const auto found = (*tier)->find(test_key(i), kAnna);
      if (!found) continue;
      ++n_found;
      ASSERT_EQ(found->embedding.rows, test_rows(i).rows);
    }
    (*tier)->flush();
    EXPECT_EQ((*tier)->stats().n_unreadable, 0U) << "a killed process loses no page of the kernel";
    EXPECT_LE(folder.entries().size(), 40U);
  }
  EXPECT_GT(n_found, 50);
}

}  // namespace
}  // namespace tessera::cache
