#include "encode/encode_times.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace tessera::encode {
namespace {

using std::chrono::milliseconds;

TEST(EncodeTimes, SayNothingOfSizesBelowAllThatWereSeen) {
  EncodeTimes times;
  EXPECT_EQ(times.at_least(1000), Duration::zero());

  times.record(600, milliseconds(80));

  EXPECT_EQ(times.at_least(599), Duration::zero());
  EXPECT_EQ(times.at_least(600), milliseconds(40));
  EXPECT_EQ(times.at_least(60'000), milliseconds(40)) << "not a hundred times as much: on a GPU "
                                                         "a large tile may take as long";
}

TEST(EncodeTimes, KeepTheShortestOfASize) {
  EncodeTimes times;
  times.record(600, milliseconds(80));
  times.record(700, milliseconds(60));
  times.record(600, milliseconds(100));

  EXPECT_EQ(times.at_least(700), milliseconds(30));
  EXPECT_EQ(times.at_least(650), Duration::zero()) << "the shortest may have been of 700";
}

TEST(EncodeTimes, KnowMoreOfLargeTilesThanOfSmallOnes) {
  EncodeTimes times;
  times.record(64, milliseconds(10));
  times.record(4096, milliseconds(800));
  times.record(0, milliseconds(1));

  EXPECT_EQ(times.at_least(64), milliseconds(5));
  EXPECT_EQ(times.at_least(4096), milliseconds(400));
}

// Of a machine whose encodes take a base and something a patch, at full speed or at half.
RC_GTEST_PROP(EncodeTimes, NeverSayMoreThanAnEncodeTakes, ()) {
  const int base = *rc::gen::inRange(0, 1000);
  const int per_patch = *rc::gen::inRange(0, 10);
  const auto alone = [&](int n_patches) { return milliseconds(base + per_patch * n_patches); };
  EncodeTimes times;
  for (int i = *rc::gen::inRange(0, 20); i > 0; --i) {
    const int n_patches = *rc::gen::inRange(1, 5000);
    times.record(n_patches, alone(n_patches) * *rc::gen::inRange(1, 3));
  }
  const int n_patches = *rc::gen::inRange(1, 5000);

  RC_ASSERT(times.at_least(n_patches) <= alone(n_patches));
}

}  // namespace
}  // namespace tessera::encode
