#include "media/heif/testing/encode_heic.h"

#include <gtest/gtest.h>

#include "media/sniff.h"

namespace tessera::media::heif::testing {
namespace {

TEST(EncodeHeic, MakesAFileThatIsKnownForHeic) {
  const ByteVector file = encode_heic(media::testing::gradient({16, 16}));

  EXPECT_EQ(sniff_format(std::as_bytes(std::span(file))), FileKind::kHeic);
}

}  // namespace
}  // namespace tessera::media::heif::testing
