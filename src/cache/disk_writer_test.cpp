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
  void put(int i, TenantId tenant = kAnna) {
    tier_->store(test_key(i), tenant, std::make_shared<const Embedding>(test_rows(i)), seconds(1),
                 seconds(1000));
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
    for (int i = 0; i < 6; ++i) put(i, i % 2 == 0 ? kAnna : kBen);
    (void)has(4);
    forgotten_ = tier_->forget(kBen).has_value();
    tier_->flush();
    put(7, kBen);
    put(8);
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

/// Holds the writer in its first write until it is let go.
class HeldFiles final : public DiskFiles {
 public:
  HeldFiles(UniqueFd folder, std::shared_future<void> go)
      : DiskFiles(std::move(folder)), go_(std::move(go)) {}
  Result<UniqueFd> create(const std::string& path) override {
    go_.wait();
    return DiskFiles::create(path);
  }

 private:
  std::shared_future<void> go_;
};

TEST(DiskWriter, WhatIsTooMuchToBeWrittenIsDroppedAndNobodyWaits) {
  const TestFolder folder;
  std::promise<void> go;
  auto files = std::make_unique<HeldFiles>(
      UniqueFd(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      go.get_future().share());
  const auto tier = DiskTier::open(
                        options_of(folder.path(), 1'000'000'000), [] { return 1'800'000'000; },
                        std::move(files), kSecret)
                        .value();
  const auto rows = std::make_shared<const Embedding>(test_rows(1));
  const int n = static_cast<int>(kWritesWaitingMax) + 11;
  for (int i = 0; i < n; ++i) tier->store(test_key(i), kAnna, rows, seconds(1), {});
  const std::uint64_t n_dropped = tier->stats().n_dropped;
  go.set_value();
  tier->flush();

  // The writer holds one, perhaps.
  EXPECT_GE(n_dropped, 10U);
  EXPECT_LE(n_dropped, 11U);
  EXPECT_EQ(tier->stats().n_written, static_cast<std::uint64_t>(n) - n_dropped);
}

TEST(DiskWriter, RowsThatWaitAreBoundedInBytes) {
  const TestFolder folder;
  std::promise<void> go;
  auto files = std::make_unique<HeldFiles>(
      UniqueFd(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      go.get_future().share());
  const auto tier = DiskTier::open(
                        options_of(folder.path(), 1'000'000'000), [] { return 1'800'000'000; },
                        std::move(files), kSecret)
                        .value();
  const auto rows = std::make_shared<const Embedding>(test_rows(1, 131'072));  // 16 MiB
  for (int i = 0; i < 12; ++i) tier->store(test_key(i), kAnna, rows, seconds(1), {});
  const std::uint64_t n_dropped = tier->stats().n_dropped;
  go.set_value();
  tier->flush();

  EXPECT_GE(n_dropped, 3U);  // eight fit, and the one that is being written
  EXPECT_LE(n_dropped, 4U);
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
  for (int round = 0; round < 25; ++round) {
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
  EXPECT_GT(n_found, 100);
}

}  // namespace
}  // namespace tessera::cache
