#include "api/media_sink.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace tessera::api {
namespace {

TEST(MediaSink, GivesTheBytesBackInOneSealedFile) {
  MediaSink sink(100);
  std::string first = "abc";
  std::string second = "defg";
  ASSERT_TRUE(sink.write(first) && sink.write(second));

  const auto media = sink.finish();

  ASSERT_TRUE(media);
  EXPECT_EQ(media->size_bytes, 7U);
  EXPECT_TRUE(first.empty());
  std::array<char, 16> read{};
  ASSERT_EQ(::read(media->fd.get(), read.data(), read.size()), 7);
  EXPECT_STREQ(read.data(), "abcdefg");
  EXPECT_EQ(::write(media->fd.get(), "x", 1), -1);
  EXPECT_EQ(::ftruncate(media->fd.get(), 0), -1);
}

TEST(MediaSink, RefusesTheFirstByteAboveItsLimit) {
  MediaSink sink(4);
  std::string fits = "abcd";
  std::string above = "e";
  ASSERT_TRUE(sink.write(fits));

  const auto written = sink.write(above);

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().reason, "image_too_large");
  EXPECT_EQ(written.error().message, "the image has more than 4 bytes");
}

TEST(MediaSink, RefusesAnEmptyImage) {
  EXPECT_EQ(MediaSink(4).finish().error().reason, "image_empty");
}

}  // namespace
}  // namespace tessera::api
