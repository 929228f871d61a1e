#include "cache/disk_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "cache/test_folder.h"

namespace tessera::cache {
namespace {

namespace fs = std::filesystem;

class DiskFilesTest : public ::testing::Test {
 protected:
  std::vector<std::string> names(const std::string& path) {
    std::vector<std::string> found;
    const auto listed = files_->list(path);
    for (const ListedFile& file : *listed) found.push_back(file.name);
    std::ranges::sort(found);
    return found;
  }

  const std::vector<std::uint8_t> bytes_{1, 2, 3};
  TestFolder outer_;
  const fs::path folder_ = outer_.path() / "cache";
  const std::unique_ptr<DiskFiles> files_ = DiskFiles::open(folder_).value();
};

TEST_F(DiskFilesTest, TheFolderIsItsOwnersAlone) {
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(DiskFiles::open(folder_)) << "one that is there is used";
  EXPECT_EQ(DiskFiles::open(folder_ / "a" / "b").error().reason, "cache_dir_unusable");
  write_file(outer_.path() / "file", "");
  EXPECT_FALSE(DiskFiles::open(outer_.path() / "file"));
}

TEST_F(DiskFilesTest, WhatIsPutIsReadAndListed) {
  ASSERT_TRUE(files_->make_folder("t"));
  ASSERT_TRUE(files_->make_folder("t")) << "again";
  for (const bool synced : {false, true}) {
    ASSERT_TRUE(files_->put("t", "a", bytes_, synced));
    EXPECT_EQ(files_->read("t/a", 3).value(), bytes_);
  }

  EXPECT_EQ(names("."), std::vector<std::string>{"t"});
  EXPECT_EQ(names("t"), std::vector<std::string>{"a"}) << "and nothing unfinished";
  EXPECT_EQ(files_->list("t")->front().n_bytes, 3U);
  EXPECT_EQ(fs::status(folder_ / "t" / "a").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(files_->remove("t/a"));
  EXPECT_EQ(files_->remove("t/a").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files_->read("t/a", 3).error().code, ErrorCode::kNotFound);
}

TEST_F(DiskFilesTest, WhatACrashLeftUnfinishedIsReplaced) {
  ASSERT_TRUE(files_->make_folder("t"));
  write_file(folder_ / "t" / kUnfinishedName, "half of someth");

  ASSERT_TRUE(files_->put("t", "a", bytes_, false));

  EXPECT_EQ(names("t"), std::vector<std::string>{"a"});
  EXPECT_EQ(files_->read("t/a", 3).value(), bytes_);
}

TEST_F(DiskFilesTest, UseIsNoted) {
  ASSERT_TRUE(files_->put(".", "a", bytes_, false));
  fs::last_write_time(folder_ / "a", fs::file_time_type::clock::now() - std::chrono::hours(24));
  const std::int64_t before = files_->list(".")->front().used_ns;

  files_->touch("a");

  EXPECT_GT(files_->list(".")->front().used_ns, before + std::int64_t{3'600'000'000'000});
}

TEST_F(DiskFilesTest, OnlyRegularFilesOfTheExpectedLengthAreRead) {
  ASSERT_TRUE(files_->put(".", "a", bytes_, false));
  ASSERT_TRUE(files_->make_folder("folder"));
  fs::create_symlink("a", folder_ / "link");
  fs::create_directory_symlink(outer_.path(), folder_ / "way out");
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);

  for (const char* name : {"folder", "link", "fifo", "nothing", "a/b"}) {
    EXPECT_EQ(files_->read(name, 100).error().code, ErrorCode::kNotFound) << name;
  }
  EXPECT_EQ(files_->read("a", 2).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(files_->list("way out"));
  EXPECT_EQ(names("."), (std::vector<std::string>{"a", "folder"}));
}

TEST_F(DiskFilesTest, OneAtATimeHasTheLock) {
  auto first = files_->lock("lock");
  ASSERT_TRUE(first);
  const auto others = DiskFiles::open(folder_);

  const auto second = (*others)->lock("lock");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().reason, "cache_dir_in_use");
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);

  first->reset();
  EXPECT_TRUE((*others)->lock("lock"));
}

}  // namespace
}  // namespace tessera::cache
