#include "media/testing/encode_avif.h"

#include <gtest/gtest.h>

#include "media/sniff.h"

namespace tessera::media::testing {
namespace {

TEST(EncodeAvif, WritesTheBrandOfStillsAndOfSequences) {
  for (const int n_frames : {1, 3}) {
    AvifOptions options;
    options.n_frames = n_frames;

    const ByteVector file = encode_avif(gradient({16, 16}), options);

    EXPECT_EQ(sniff_format(std::as_bytes(std::span(file))), FileKind::kAvif);
  }
}

}  // namespace
}  // namespace tessera::media::testing
