#include "media/codecs/frame_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tessera::media {
namespace {

constexpr ImageSize kSize{2, 1};

/// A frame of one grey level.
std::array<std::uint8_t, 8> grey(std::uint8_t level) {
  return {level, level, level, 255, level, level, level, 255};
}

TEST(FrameWriter, WritesTheFramesThatAreAskedForBehindEachOther) {
  constexpr std::array<std::uint32_t, 2> kWanted{1, 3};
  std::vector<std::uint8_t> out(12);
  FrameWriter writer(kSize, Orientation::kUpright, kSize, kWanted, out);

  for (std::uint8_t level = 10; level < 13; ++level) writer.next(grey(level).data(), {});
  EXPECT_FALSE(writer.is_complete());
  writer.next(grey(13).data(), {});
  EXPECT_TRUE(writer.is_complete());
  writer.next(grey(14).data(), {});

  EXPECT_EQ(out, (std::vector<std::uint8_t>{11, 11, 11, 11, 11, 11, 13, 13, 13, 13, 13, 13}));
}

TEST(FrameWriter, LaysAlphaOverWhite) {
  constexpr std::array<std::uint32_t, 1> kWanted{0};
  std::vector<std::uint8_t> out(6);
  FrameWriter writer(kSize, Orientation::kUpright, kSize, kWanted, out);

  writer.next(std::array<std::uint8_t, 8>{}.data(), {});

  EXPECT_EQ(out, std::vector<std::uint8_t>(6, 255));
}

}  // namespace
}  // namespace tessera::media
