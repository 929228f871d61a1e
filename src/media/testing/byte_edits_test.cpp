#include "media/testing/byte_edits.h"

#include <gtest/gtest.h>

namespace tessera::media::testing {
namespace {

TEST(ByteEdits, AChunkCarriesPngsChecksum) {
  // The end of every PNG.
  EXPECT_EQ(png_chunk("IEND", {}),
            (ByteVector{0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xAE, 0x42, 0x60, 0x82}));
}

TEST(ByteEdits, SettingTheSizeThatAFileHasChangesNothing) {
  const ByteVector png = encode_png(gradient({5, 3}));
  const ByteVector jpeg = encode_jpeg(gradient({5, 3}));

  EXPECT_EQ(with_png_size(png, 5, 3), png);
  EXPECT_EQ(with_jpeg_size(jpeg, 5, 3), jpeg);
}

TEST(ByteEdits, RepeatingNoScanChangesNothing) {
  JpegOptions options;
  options.progressive = true;
  const ByteVector jpeg = encode_jpeg(gradient({16, 16}), options);

  EXPECT_EQ(with_repeated_scan(jpeg, 0), jpeg);
  EXPECT_GT(with_repeated_scan(jpeg, 2).size(), jpeg.size());
}

}  // namespace
}  // namespace tessera::media::testing
