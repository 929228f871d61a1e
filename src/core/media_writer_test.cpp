#include "core/media_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace tessera {
namespace {

TEST(MediaWriter, GivesTheBytesOfAllWritesFromTheirStart) {
  MediaWriter writer;
  ASSERT_TRUE(writer.write("ab"));
  ASSERT_TRUE(writer.write("c"));
  EXPECT_EQ(writer.size_bytes(), 3U);

  const auto media = writer.finish();

  ASSERT_TRUE(media);
  EXPECT_EQ(media->size_bytes, 3U);
  std::array<char, 8> bytes{};
  EXPECT_EQ(::read(media->fd.get(), bytes.data(), bytes.size()), 3);
  EXPECT_EQ(std::string_view(bytes.data(), 3), "abc");
}

TEST(MediaWriter, SealsAgainstEveryChange) {
  MediaWriter writer;
  ASSERT_TRUE(writer.write("abc"));
  const auto media = writer.finish();

  ASSERT_TRUE(media);
  EXPECT_LT(::write(media->fd.get(), "x", 1), 0);
  EXPECT_NE(::ftruncate(media->fd.get(), 1), 0);
  EXPECT_NE(::ftruncate(media->fd.get(), 9), 0);
  EXPECT_NE(::fcntl(media->fd.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
}

TEST(MediaWriter, ThatWroteNothingCannotBeFinished) {
  MediaWriter writer;
  EXPECT_FALSE(writer.finish());
}

}  // namespace
}  // namespace tessera
