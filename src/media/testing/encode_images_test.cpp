#include "media/testing/encode_images.h"

#include <gtest/gtest.h>

#include "media/sniff.h"

namespace tessera::media::testing {
namespace {

FileKind kind_of(const ByteVector& file) {
  return sniff_format(std::as_bytes(std::span(file)));
}

TEST(EncodeImages, WritesTheSignatureOfItsFormat) {
  EXPECT_EQ(kind_of(encode_png(gradient({3, 2}))), FileKind::kPng);
  EXPECT_EQ(kind_of(encode_jpeg(gradient({3, 2}))), FileKind::kJpeg);
}

TEST(EncodeImages, GradientHasDifferentCorners) {
  const Raster raster = gradient({3, 2});

  EXPECT_EQ(raster.bytes, (ByteVector{0, 0, 128, 127, 0, 128, 255, 0, 128,  //
                                      0, 255, 128, 127, 255, 128, 255, 255, 128}));
}

}  // namespace
}  // namespace tessera::media::testing
