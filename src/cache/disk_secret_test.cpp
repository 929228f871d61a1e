#include "cache/disk_secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cache/test_folder.h"

namespace tessera::cache {
namespace {

namespace fs = std::filesystem;

class DiskSecretTest : public ::testing::Test {
 protected:
  TestFolder folder_;
  const std::string path_ = folder_.path() / "secret";
};

TEST_F(DiskSecretTest, IsMadeOnceAndForItsOwnerAlone) {
  const auto made = load_or_make_secret(path_);
  const auto loaded = load_or_make_secret(path_);

  ASSERT_TRUE(made && loaded);
  EXPECT_EQ(made->bytes(), loaded->bytes());
  EXPECT_EQ(fs::file_size(path_), 32U);
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1) << "nothing else is left";

  fs::remove(path_);
  EXPECT_NE(load_or_make_secret(path_)->bytes(), made->bytes());
}

TEST_F(DiskSecretTest, IsNotMadeWhereItIsOnlyRead) {
  EXPECT_EQ(load_secret(path_).error().reason, "cache_secret_unusable");
  EXPECT_FALSE(fs::exists(path_));

  const auto made = load_or_make_secret(path_);
  EXPECT_EQ(load_secret(path_)->bytes(), made->bytes());
}

TEST_F(DiskSecretTest, ComesFromEveryByteOfAFileThatAnOperatorMade) {
  write_file(path_, std::string(64, 'a') + "\n");
  fs::permissions(path_, fs::perms::owner_read);
  const auto first = load_or_make_secret(path_);
  fs::permissions(path_, fs::perms::owner_all);
  write_file(path_, std::string(63, 'a') + "b\n");
  fs::permissions(path_, fs::perms::owner_read | fs::perms::group_read);
  const auto second = load_or_make_secret(path_);

  ASSERT_TRUE(first && second);
  EXPECT_NE(first->bytes(), second->bytes());
}

TEST_F(DiskSecretTest, WhatOthersMayReadOrChangeIsRefused) {
  write_file(path_, std::string(32, 'a'));
  for (const fs::perms others :
       {fs::perms::others_read, fs::perms::others_write, fs::perms::group_write}) {
    fs::permissions(path_, fs::perms::owner_read | others);

    const auto secret = load_or_make_secret(path_);

    ASSERT_FALSE(secret);
    EXPECT_EQ(secret.error().reason, "cache_secret_unusable");
    EXPECT_EQ(secret.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST_F(DiskSecretTest, WhatIsTooShortOrTooLongOrNoFileIsRefused) {
  for (const std::size_t n_bytes : {0U, 31U, 4097U}) {
    write_file(path_, std::string(n_bytes, 'a'));
    fs::permissions(path_, fs::perms::owner_all);
    EXPECT_FALSE(load_or_make_secret(path_)) << n_bytes;
  }
  EXPECT_FALSE(load_or_make_secret(folder_.path()));
  EXPECT_FALSE(load_or_make_secret(folder_.path() / "no folder" / "secret"));
  const std::string fifo = folder_.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(load_or_make_secret(fifo));
}

}  // namespace
}  // namespace tessera::cache
