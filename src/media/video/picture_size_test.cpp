#include "media/video/picture_size.h"

#include <gtest/gtest.h>

#include "media/video/demuxer.h"
#include "media/video/testing/encode_clip.h"

namespace tessera::media::video {
namespace {

using testing::ByteVector;
using testing::encode_clip;

struct Kind {
  const char* name;
  const char* encoder;
  const char* container;
  const char* pixel_format = "yuv420p";
};
class SizeOf : public ::testing::TestWithParam<Kind> {
 protected:
  static ByteVector clip(ImageSize size) {
    return encode_clip({.encoder = GetParam().encoder,
                        .container = GetParam().container,
                        .size = size,
                        .n_frames = 4,
                        .pixel_format = GetParam().pixel_format});
  }
};

TEST_P(SizeOf, TheFirstPictureIsToldByItsHeaders) {
  for (const ImageSize size : {ImageSize{64, 48}, ImageSize{200, 120}, ImageSize{638, 34}}) {
    const ByteVector file = clip(size);
    Demuxer demuxer(file);
    ASSERT_EQ(demuxer.error(), MediaError::kNone);
    SizeReader sizes(demuxer.stream());
    const AVPacket* const packet = demuxer.next();
    ASSERT_NE(packet, nullptr);

    EXPECT_EQ(sizes.read(*packet), size);
  }
}

TEST_P(SizeOf, APictureIsTheSameOrNotToldWhenBitsOfItAreLost) {
  const ByteVector file = clip({64, 48});
  Demuxer demuxer(file);
  ASSERT_EQ(demuxer.error(), MediaError::kNone);
  SizeReader sizes(demuxer.stream());
  for (const AVPacket* packet = demuxer.next(); packet != nullptr; packet = demuxer.next()) {
    const AvPtr<AVPacket> cut(::av_packet_clone(packet));
    ASSERT_TRUE(cut);
    for (cut->size = packet->size - 1; cut->size > 0; cut->size /= 2) {
      const auto size = sizes.read(*cut);
      EXPECT_EQ(size.value_or(ImageSize{64, 48}), (ImageSize{64, 48})) << cut->size;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, SizeOf,
    ::testing::Values(Kind{"H264InMp4", "libx264", "mp4"},
                      Kind{"H264InMatroska", "libx264", "matroska"},
                      Kind{"HevcInMp4", "libx265", "mp4"}, Kind{"Vp8InWebm", "libvpx", "webm"},
                      Kind{"Vp9InWebm", "libvpx-vp9", "webm"},
                      Kind{"Vp9Of444InMp4", "libvpx-vp9", "mp4", "yuv444p"},
                      Kind{"Vp9OfTenBits", "libvpx-vp9", "webm", "yuv420p10le"},
                      Kind{"Av1InMp4", "libaom-av1", "mp4"}),
    [](const auto& info) { return info.param.name; });

TEST(Vp9Size, IsThatOfAKeyFrameOfProfile0) {
  // Marker, profile 0, key frame, shown; the sync code; BT.601; 1279 and 719.
  const ByteVector frame{0x82, 0x49, 0x83, 0x42, 0x20, 0x4F, 0xF0, 0x2C, 0xF0};

  EXPECT_EQ(vp9_size(frame), (ImageSize{1280, 720}));
}

TEST(Vp9Size, IsNotToldByOtherFramesAndOtherBytes) {
  const ByteVector key{0x82, 0x49, 0x83, 0x42, 0x20, 0x4F, 0xF0, 0x2C, 0xF0};
  ByteVector inter = key;
  inter[0] |= 0x04;
  ByteVector repeated = key;
  repeated[0] |= 0x08;
  ByteVector unmarked = key;
  unmarked[0] &= 0x3F;
  ByteVector unsynced = key;
  unsynced[2] = 0;

  for (const ByteVector& frame : {inter, repeated, unmarked, unsynced, ByteVector{}}) {
    EXPECT_EQ(vp9_size(frame), std::nullopt);
  }
  for (std::size_t n = 0; n < 8; ++n) EXPECT_EQ(vp9_size(Bytes(key).first(n)), std::nullopt) << n;
}

}  // namespace
}  // namespace tessera::media::video
