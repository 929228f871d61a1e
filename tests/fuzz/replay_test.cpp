// The fuzz targets over their seeds and the kept corpus, as ordinary tests.
#include <gtest/gtest.h>

#include <algorithm>

#include "fuzz/kept_corpus.h"
#include "fuzz/targets.h"

namespace tessera::fuzz {
namespace {

using media::testing::ByteVector;

class Replay : public ::testing::TestWithParam<std::string_view> {
 protected:
  const Target& target() const { return *find_target(GetParam()); }
};

TEST_P(Replay, EverySeedSaysSomethingAboutItsTarget) {
  const auto seeds = target().seeds();

  EXPECT_FALSE(seeds.empty());
  for (const ByteVector& seed : seeds) EXPECT_TRUE(target().run(seed));
}

TEST_P(Replay, KeptInputsBreakNoPromise) {
  for (const ByteVector& input : kept_corpus(GetParam())) target().run(input);
}

TEST_P(Replay, ShortInputsBreakNoPromise) {
  for (const ByteVector& seed : target().seeds()) {
    for (std::size_t n = 0; n < std::min<std::size_t>(seed.size(), 64); ++n) {
      // A copy of exactly n bytes, so that a sanitizer sees any read behind it.
      const ByteVector cut(seed.begin(), seed.begin() + static_cast<std::ptrdiff_t>(n));
      target().run(cut);
    }
  }
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> result;
  for (const Target& each : targets()) result.push_back(each.name);
  return result;
}

INSTANTIATE_TEST_SUITE_P(OfTarget, Replay, ::testing::ValuesIn(names()),
                         [](const auto& info) { return std::string(info.param); });

TEST(KeptCorpus, LinesAreHexadecimalUpToTheirReason) {
  EXPECT_EQ(parse_hex("FF d8 0a # SOI"), (ByteVector{0xFF, 0xD8, 0x0A}));
  EXPECT_EQ(parse_hex("# nothing: 00"), ByteVector{});
  EXPECT_EQ(parse_hex("123"), ByteVector{0x12});
}

TEST(KeptCorpus, EveryFileOfTheCorpusBelongsToATarget) {
  EXPECT_FALSE(kept_corpus("jpeg_markers").empty());
  EXPECT_TRUE(kept_corpus("no such target").empty());
}

}  // namespace
}  // namespace tessera::fuzz
