#include "cache/weights_file.h"

#include <gtest/gtest.h>

#include "cache/test_folder.h"

namespace tessera::cache {
namespace {

namespace fs = std::filesystem;

class WeightsFileTest : public ::testing::Test {
 protected:
  Digest digest() { return WeightsFile::open(path_)->digest().value(); }

  TestFolder folder_;
  const std::string path_ = folder_.path() / "mmproj.gguf";
};

TEST_F(WeightsFileTest, IsNamedByItsContent) {
  write_file(path_, "abc");
  const Digest abc = digest();
  EXPECT_EQ(abc.bytes[0], 0xBA);  // FIPS 180-2, appendix B.1
  EXPECT_EQ(abc.bytes[31], 0xAD);

  std::string large(3'000'000, 'x');
  write_file(path_, large);
  const Digest before = digest();
  const auto time = fs::last_write_time(path_);
  large[2'500'000] = 'y';
  write_file(path_, large);
  fs::last_write_time(path_, time);

  EXPECT_NE(digest(), before) << "of the same size and time";
}

TEST_F(WeightsFileTest, OneThatIsReplacedAfterItWasOpenedIsNotNamed) {
  write_file(path_, "abc");
  const auto opened = WeightsFile::open(path_);
  write_file(folder_.path() / "other", "abc");
  fs::rename(folder_.path() / "other", path_);

  EXPECT_EQ(opened->digest().error().reason, "weights_changed");
}

TEST_F(WeightsFileTest, OneThatIsWrittenToAfterItWasOpenedIsNotNamed) {
  write_file(path_, "abc");
  const auto opened = WeightsFile::open(path_);
  write_file(path_, "abcd");

  EXPECT_EQ(opened->digest().error().reason, "weights_changed");
}

TEST_F(WeightsFileTest, OneThatIsNotThereIsAnError) {
  EXPECT_EQ(WeightsFile::open(path_).error().reason, "weights_unreadable");
  EXPECT_EQ(WeightsFile::open(folder_.path()).error().reason, "weights_unreadable");
}

}  // namespace
}  // namespace tessera::cache
