#include <gtest/gtest.h>

#include "media/sniff.h"
#include "media/testing/encode_images.h"

namespace tessera::media::testing {
namespace {

FileKind kind_of(const ByteVector& file) {
  return sniff_format(std::as_bytes(std::span(file)));
}

TEST(EncodeFrames, WritesTheSignatureOfItsFormat) {
  const Raster rgba{{2, 2}, ByteVector(16, 200)};

  EXPECT_EQ(kind_of(encode_webp(gradient({3, 2}))), FileKind::kWebp);
  EXPECT_EQ(kind_of(encode_webp_animation(rgba, {4, 4}, 2, 2)), FileKind::kWebp);
  EXPECT_EQ(kind_of(encode_gif({{1, 1}, {0}}, {.canvas = {}, .palette_rgb = ByteVector(6)})),
            FileKind::kGif);
}

}  // namespace
}  // namespace tessera::media::testing
