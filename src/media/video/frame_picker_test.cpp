#include "media/video/frame_picker.h"

#include <gtest/gtest.h>

namespace tessera::media::video {
namespace {

/// Gives pictures whose width is their number, and notes which arrive at which place.
class FramePickerTest : public ::testing::Test {
 protected:
  FramePickerTest() : picture_(owned(::av_frame_alloc())) {}

  void want(std::vector<std::uint32_t> ranks) {
    wanted_ = std::move(ranks);
    given_.assign(wanted_.size(), -1);
    picker_.emplace(wanted_, [this](const AVFrame& picture, std::size_t place) {
      given_[place] = picture.width;
      return MediaError::kNone;
    });
  }

  void take(std::uint32_t rank) {
    ::av_frame_unref(picture_.get());
    picture_->format = AV_PIX_FMT_GRAY8;
    picture_->width = picture_->height = static_cast<int>(rank) + 1;
    ASSERT_GE(::av_frame_get_buffer(picture_.get(), 0), 0);
    picture_->width = static_cast<int>(rank);
    ASSERT_EQ(picker_->take(*picture_, rank), MediaError::kNone);
  }

  std::vector<std::uint32_t> wanted_;
  std::vector<int> given_;
  std::optional<FramePicker> picker_;
  AvPtr<AVFrame> picture_;
};

TEST_F(FramePickerTest, GivesWhatIsWantedAndSkipsTheRest) {
  want({0, 2, 3});

  for (std::uint32_t rank = 0; rank < 4; ++rank) take(rank);

  EXPECT_EQ(given_, (std::vector{0, 2, 3}));
  EXPECT_TRUE(picker_->is_complete());
}

TEST_F(FramePickerTest, GivesThePictureBeforeWhereOneIsMissing) {
  want({1, 2, 5});

  take(0);
  take(3);
  EXPECT_EQ(given_, (std::vector{0, 0, -1}));
  EXPECT_EQ(picker_->finish_range(5), MediaError::kNone);

  EXPECT_EQ(given_, (std::vector{0, 0, 3}));
}

TEST_F(FramePickerTest, GivesTheNextOneAtTheStartOfARange) {
  want({4, 9});

  take(6);

  EXPECT_EQ(given_, (std::vector{6, -1}));
}

TEST_F(FramePickerTest, TakesNoPictureFromAnotherRange) {
  want({1, 9});
  take(1);
  ASSERT_EQ(picker_->finish_range(1), MediaError::kNone);

  EXPECT_EQ(picker_->finish_range(9), MediaError::kInvalid);
  EXPECT_FALSE(picker_->is_complete());
}

TEST(LastRank, IsTheHighestOfTheRange) {
  const std::vector<std::int32_t> ranks{0, 3, 1, 2, kNotShown};

  EXPECT_EQ(last_rank(ranks, {0, 4}), 3U);
  EXPECT_EQ(last_rank(ranks, {2, 3}), 2U);
  EXPECT_EQ(last_rank(ranks, {4, 4}), 0U);
}

}  // namespace
}  // namespace tessera::media::video
