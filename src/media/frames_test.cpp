#include "media/frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

namespace tessera::media {
namespace {

using Frames = std::vector<std::uint32_t>;

TEST(SampleFrames, AreSpreadFromTheFirstToTheLast) {
  EXPECT_EQ(sample_frames(1, 1), (Frames{0}));
  EXPECT_EQ(sample_frames(10, 1), (Frames{0}));
  EXPECT_EQ(sample_frames(10, 2), (Frames{0, 9}));
  EXPECT_EQ(sample_frames(10, 4), (Frames{0, 3, 6, 9}));
  EXPECT_EQ(sample_frames(4, 3), (Frames{0, 2, 3}));
}

TEST(SampleFrames, AreAllWhenThereAreFewer) {
  EXPECT_EQ(sample_frames(1, 8), (Frames{0}));
  EXPECT_EQ(sample_frames(3, 8), (Frames{0, 1, 2}));
}

TEST(SampleFrames, AscendWithoutRepeating) {
  for (int n_frames = 1; n_frames <= 100; ++n_frames) {
    for (int n_wanted = 1; n_wanted <= 70; ++n_wanted) {
      const Frames frames = sample_frames(n_frames, n_wanted);
      ASSERT_EQ(frames.size(), static_cast<std::size_t>(std::min(n_frames, n_wanted)));
      ASSERT_EQ(std::ranges::adjacent_find(frames, std::greater_equal{}), frames.end());
      ASSERT_LT(frames.back(), static_cast<std::uint32_t>(n_frames));
    }
  }
}

TEST(ShowFrames, PutsAnImageForEachFrameInPlaceOfTheFile) {
  std::vector<Message> messages(2);
  messages[0].parts = {TextPart{"before"}, ImagePart{0, ImageDetail::kLow}, TextPart{"after"}};
  messages[1].parts = {ImagePart{1, ImageDetail::kHigh}};
  constexpr std::array<std::size_t, 2> kFrames{3, 1};

  show_frames(messages, kFrames);

  ASSERT_EQ(messages[0].parts.size(), 5U);
  EXPECT_EQ(std::get<TextPart>(messages[0].parts[0]).text, "before");
  for (std::size_t i = 1; i <= 3; ++i) {
    const auto& image = std::get<ImagePart>(messages[0].parts[i]);
    EXPECT_EQ(image.media_index, 0U);
    EXPECT_EQ(image.detail, ImageDetail::kLow);
  }
  EXPECT_EQ(std::get<TextPart>(messages[0].parts[4]).text, "after");
  EXPECT_EQ(messages[1].parts.size(), 1U);
}

}  // namespace
}  // namespace tessera::media
