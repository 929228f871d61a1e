#include "media/video/packet_index.h"

#include <gtest/gtest.h>

namespace tessera::media::video {
namespace {

PacketInfo key(std::int64_t timestamp) {
  return {timestamp, 1, true, true};
}
PacketInfo other(std::int64_t timestamp) {
  return {timestamp, 1, false, true};
}

std::vector<PacketRange> ranges(std::span<const PacketInfo> packets,
                                std::vector<std::uint32_t> wanted) {
  return ranges_for(packets, ranks_of(packets), wanted);
}

TEST(PacketIndex, RanksByTimestampAndLeavesOutWhatIsNotShown) {
  // Decode order I0 P3 B1 b2, as encoders write; then a picture that an edit list cuts.
  std::vector<PacketInfo> packets{key(0), other(3), other(1), other(2), other(-5)};
  packets[4].is_shown = false;

  EXPECT_EQ(ranks_of(packets), (std::vector<std::int32_t>{0, 3, 1, 2, kNotShown}));
}

TEST(PacketIndex, EqualTimestampsKeepTheirOrder) {
  EXPECT_EQ(ranks_of(std::vector{key(7), other(7), other(7)}),
            (std::vector<std::int32_t>{0, 1, 2}));
}

TEST(PacketIndex, ARangeGoesFromTheKeyBeforeToTheWantedPacket) {
  // I0 P1 P2 | I3 P4 P5
  const std::vector packets{key(0), other(1), other(2), key(3), other(4), other(5)};

  EXPECT_EQ(ranges(packets, {0}), (std::vector<PacketRange>{{0, 0}}));
  EXPECT_EQ(ranges(packets, {2}), (std::vector<PacketRange>{{0, 2}}));
  EXPECT_EQ(ranges(packets, {4}), (std::vector<PacketRange>{{3, 4}}));
  EXPECT_EQ(ranges(packets, {1, 5}), (std::vector<PacketRange>{{0, 1}, {3, 5}}));
  EXPECT_EQ(ranges(packets, {0, 2}), (std::vector<PacketRange>{{0, 2}}));
  EXPECT_EQ(n_packets(ranges(packets, {1, 5})), 5U);
}

TEST(PacketIndex, APictureShownBeforeItsKeyNeedsTheGroupBefore) {
  // I0 P1 | I4 b2 b3 P5: the b pictures come after I4 and are shown before it.
  const std::vector packets{key(0), other(1), key(4), other(2), other(3), other(5)};

  EXPECT_EQ(ranges(packets, {2}), (std::vector<PacketRange>{{0, 3}}));
  EXPECT_EQ(ranges(packets, {5}), (std::vector<PacketRange>{{2, 5}}));
  EXPECT_EQ(ranges(packets, {2, 5}), (std::vector<PacketRange>{{0, 5}})) << "they meet";
}

TEST(PacketIndex, AFileWithoutKeysIsDecodedFromItsStart) {
  EXPECT_EQ(ranges(std::vector{other(0), other(1)}, {1}), (std::vector<PacketRange>{{0, 1}}));
}

TEST(PacketIndex, DurationGoesFromTheFirstShownToTheEndOfTheLast) {
  std::vector<PacketInfo> packets{key(100), {400, 50, false, true}, other(200), other(10'000)};
  packets[3].is_shown = false;

  EXPECT_EQ(shown_duration(packets), 350);
  EXPECT_EQ(shown_duration({}), 0);
}

TEST(PacketIndex, DurationsThatDoNotFitAreTheLongest) {
  const std::vector<PacketInfo> far{key(INT64_MIN + 1), key(INT64_MAX - 1)};
  const std::vector<PacketInfo> beyond{{INT64_MAX, 5, true, true}};

  EXPECT_EQ(shown_duration(far), INT64_MAX);
  EXPECT_EQ(shown_duration(beyond), INT64_MAX);
}

}  // namespace
}  // namespace tessera::media::video
