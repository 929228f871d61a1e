#include "content_log/content_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "core/mutex.h"

namespace tessera::content_log {
namespace {

namespace fs = std::filesystem;

class ContentLogTest : public testing::Test {
 protected:
  ContentLogTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ContentLogTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name = "content.jsonl") const { return folder_ / name; }

  static std::string text_of(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  static unsigned mode_of(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777U;
  }

  static std::string reason_of(const std::string& path) {
    const auto log = ContentLog::open({path});
    return log ? "opened" : log.error().reason + ": " + log.error().message;
  }

 private:
  const fs::path folder_ =
      fs::path(testing::TempDir()) / ("tessera-content-log-" + std::to_string(::getpid()));
};

TEST_F(ContentLogTest, EveryLineIsInTheFileInOrderWhenTheLogIsClosed) {
  std::string expected;
  {
    const auto log = ContentLog::open({path()}).value();
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(log->try_append(R"({"line":)" + std::to_string(i) + "}"));
      expected += R"({"line":)" + std::to_string(i) + "}\n";
    }
  }
  EXPECT_EQ(text_of(path()), expected);
}

TEST_F(ContentLogTest, ANewFileIsTheOwnersAloneAndAnOldOneIsAppendedTo) {
  EXPECT_TRUE(ContentLog::open({path()}).value()->try_append("one"));
  EXPECT_TRUE(ContentLog::open({path()}).value()->try_append("two"));

  EXPECT_EQ(mode_of(path()), 0600U);
  EXPECT_EQ(text_of(path()), "one\ntwo\n");
}

TEST_F(ContentLogTest, AFileThatIsNotTheOwnersAloneIsRefused) {
  std::ofstream(path()) << "before";
  ::chmod(path().c_str(), 0640);
  EXPECT_EQ(reason_of(path()),
            "content_log_unusable: the file of content_log may be read or written by others; it "
            "needs mode 0600");

  fs::create_symlink(path(), path("link"));
  EXPECT_EQ(reason_of(path("link")),
            "content_log_unusable: the file of content_log cannot be opened, or is a symbolic "
            "link");
  EXPECT_TRUE(reason_of("/dev/null").ends_with("is no regular file"));
  EXPECT_TRUE(reason_of(path("missing/x")).starts_with("content_log_unusable"));
  EXPECT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(reason_of(path("pipe")).starts_with("content_log_unusable"));
  EXPECT_EQ(text_of(path()), "before");
}

TEST_F(ContentLogTest, AFullFileBecomesTheOneBefore) {
  {
    const auto log = ContentLog::open({path(), {}, 10}).value();
    for (const char* line : {"1aaa", "2aaa", "3aaa", "4aaa", "5aaa"}) log->try_append(line);
  }
  EXPECT_EQ(text_of(path()), "5aaa\n");
  EXPECT_EQ(text_of(path() + ".1"), "3aaa\n4aaa\n");
  EXPECT_EQ(mode_of(path() + ".1"), 0600U);
}

TEST_F(ContentLogTest, AFileThatCannotBeReplacedLosesLinesAndCountsThem) {
  fs::create_directories(path() + ".1/in the way");
  int n_lost = 0;
  const auto log = ContentLog::open({path(), [&n_lost] { ++n_lost; }, 10}).value();
  // One thread writes them, in order; the second has no room.
  log->try_append("1aaaaaaa");
  log->try_append("2aaaaaaa");
  while (log->n_lost() == 0) std::this_thread::yield();

  EXPECT_EQ(text_of(path()), "1aaaaaaa\n");
}

TEST_F(ContentLogTest, ALineAboveTheLimitIsLostAndCounted) {
  int n_lost = 0;
  const auto log = ContentLog::open({path(), [&n_lost] { ++n_lost; }}).value();

  EXPECT_FALSE(log->try_append(std::string(kLineBytesMax + 1, 'x')));
  EXPECT_TRUE(log->try_append("short"));

  EXPECT_EQ(log->n_lost(), 1U);
  EXPECT_EQ(n_lost, 1);
}

/// A log whose owner thread stands in its first loss until the gate opens.
class BlockedContentLogTest : public ContentLogTest {
 protected:
  BlockedContentLogTest() {
    fs::create_directories(path() + ".1/in the way");
    log_ = ContentLog::open({path(), [this] { stand(); }, 10}).value();
    log_->try_append("1aaaaaaa");
    log_->try_append("2aaaaaaa");  // has no room, and the file cannot be replaced
    MutexLock lock(mutex_);
    while (!stands_) changed_.wait(mutex_, {});
  }
  ~BlockedContentLogTest() override {
    {
      MutexLock lock(mutex_);
      open_ = true;
      changed_.notify_all();
    }
    log_.reset();
  }

  std::unique_ptr<ContentLog> log_;

 private:
  void stand() {
    if (std::this_thread::get_id() == tester_) return;
    MutexLock lock(mutex_);
    stands_ = true;
    changed_.notify_all();
    while (!open_) changed_.wait(mutex_, {});
  }

  const std::thread::id tester_ = std::this_thread::get_id();
  Mutex mutex_;
  CondVar changed_;
  bool stands_ TSR_GUARDED_BY(mutex_) = false;
  bool open_ TSR_GUARDED_BY(mutex_) = false;
};

TEST_F(BlockedContentLogTest, LinesThatWaitAreBoundedAndNobodyWaitsForTheDisk) {
  std::size_t n_taken = 0;
  while (log_->try_append("3aaaaaaa")) ++n_taken;

  EXPECT_EQ(n_taken, kQueuedLinesMax);
  EXPECT_EQ(log_->n_lost(), 2U);
}

TEST_F(BlockedContentLogTest, BytesThatWaitAreBoundedTogether) {
  const std::string line(kLineBytesMax - 8, 'x');

  EXPECT_TRUE(log_->try_append(line));
  EXPECT_TRUE(log_->try_append(line));
  EXPECT_FALSE(log_->try_append(line));
  EXPECT_TRUE(log_->try_append("8 bytes.")) << "what is refused is not counted";
  EXPECT_FALSE(log_->try_append("and more"));
}

}  // namespace
}  // namespace tessera::content_log
