#include "media/video/picture_writer.h"
#include <algorithm>

#include <gtest/gtest.h>

namespace tessera::media::video {
namespace {

struct Yuv {
  std::uint8_t y, u, v;
};

AvPtr<AVFrame> flat(ImageSize size, Yuv colour) {
  auto frame = owned(::av_frame_alloc());
  frame->format = AV_PIX_FMT_YUV420P;
  frame->width = size.width;
  frame->height = size.height;
  EXPECT_GE(::av_frame_get_buffer(frame.get(), 0), 0);
  const std::array levels{colour.y, colour.u, colour.v};
  for (std::size_t plane = 0; plane < 3; ++plane) {
    const int n_rows = plane == 0 ? size.height : (size.height + 1) / 2;
    std::fill_n(frame->data[plane],
                static_cast<std::size_t>(frame->linesize[plane]) * static_cast<std::size_t>(n_rows),
                levels[plane]);
  }
  return frame;
}

/// The middle pixel at full size.
std::array<int, 3> rgb_of(const AVFrame& frame) {
  const ImageSize size{frame.width, frame.height};
  PictureWriter writer(size, Orientation::kUpright, size);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(size.pixels()) * 3);
  EXPECT_EQ(writer.write(frame, out), MediaError::kNone);
  const std::uint8_t* middle = out.data() + (out.size() / 6) * 3;
  return {middle[0], middle[1], middle[2]};
}

void expect_near(const std::array<int, 3>& rgb, const std::array<int, 3>& expected) {
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(rgb[i], expected[i], 2) << "channel " << i;
}

// Pure red by BT.601 and by BT.709, limited range: ITU-R BT.601-7 §2.5, BT.709-6 §3.
constexpr Yuv kRed601{81, 90, 240};
constexpr Yuv kRed709{63, 102, 240};

TEST(PictureWriter, TakesTheMatrixThatTheStreamNames) {
  auto frame = flat({64, 48}, kRed709);
  frame->colorspace = AVCOL_SPC_BT709;
  expect_near(rgb_of(*frame), {255, 0, 0});
  frame = flat({1280, 720}, kRed601);
  frame->colorspace = AVCOL_SPC_SMPTE170M;
  expect_near(rgb_of(*frame), {255, 0, 0});
}

TEST(PictureWriter, TakesTheMatrixBySizeWhenTheStreamNamesNone) {
  expect_near(rgb_of(*flat({64, 48}, kRed601)), {255, 0, 0});
  expect_near(rgb_of(*flat({1280, 720}, kRed709)), {255, 0, 0});
  EXPECT_FALSE(is_high_definition({720, 576}));
  EXPECT_TRUE(is_high_definition({720, 577}));
  EXPECT_TRUE(is_high_definition({1280, 544}));
}

TEST(PictureWriter, TakesTheRangeThatTheStreamSays) {
  auto frame = flat({64, 48}, {128, 128, 128});
  frame->color_range = AVCOL_RANGE_JPEG;
  expect_near(rgb_of(*frame), {128, 128, 128});
  frame->color_range = AVCOL_RANGE_MPEG;
  expect_near(rgb_of(*frame), {130, 130, 130});
  auto black = flat({64, 48}, {16, 128, 128});
  expect_near(rgb_of(*black), {0, 0, 0});
}

TEST(PictureWriter, OddSizesStayInsideTheirPixels) {
  expect_near(rgb_of(*flat({33, 17}, {235, 128, 128})), {255, 255, 255});
  expect_near(rgb_of(*flat({1, 1}, {235, 128, 128})), {255, 255, 255});
}

TEST(PictureWriter, RefusesAnotherSize) {
  PictureWriter writer({64, 48}, Orientation::kUpright, {64, 48});
  std::vector<std::uint8_t> out(std::size_t{64} * 48 * 3);

  EXPECT_EQ(writer.write(*flat({48, 64}, kRed601), out), MediaError::kUnsupportedVariant);
}

}  // namespace
}  // namespace tessera::media::video
