#include "core/trace.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using std::chrono::milliseconds;

TEST(Trace, StagesSumToTheTotal) {
  const TimePoint start{};
  Trace trace(start);

  trace.enter(Stage::kMediaDecode, start + milliseconds(3));
  trace.enter(Stage::kEncode, start + milliseconds(10));
  trace.enter(Stage::kDecode, start + milliseconds(30));
  trace.enter(Stage::kScheduleWait, start + milliseconds(31));
  trace.enter(Stage::kDecode, start + milliseconds(40));
  trace.finish(start + milliseconds(50));

  Duration sum{};
  for (std::size_t i = 0; i < kStageCount; ++i) sum += trace.in(static_cast<Stage>(i));
  EXPECT_EQ(sum, trace.total());
  EXPECT_EQ(trace.total(), milliseconds(50));
  EXPECT_EQ(trace.in(Stage::kRead), milliseconds(3));
  EXPECT_EQ(trace.in(Stage::kDecode), milliseconds(11));
}

TEST(Trace, NothingChangesAfterFinish) {
  const TimePoint start{};
  Trace trace(start);
  trace.finish(start + milliseconds(5));

  trace.enter(Stage::kDecode, start + milliseconds(9));
  trace.finish(start + milliseconds(9));

  EXPECT_EQ(trace.total(), milliseconds(5));
  EXPECT_EQ(trace.in(Stage::kDecode), Duration{});
}

TEST(Trace, KeepsTheFirstFirstToken) {
  const TimePoint start{};
  Trace trace(start);

  trace.mark_first_token(start + milliseconds(7));
  trace.mark_first_token(start + milliseconds(8));

  EXPECT_EQ(trace.time_to_first_token(), milliseconds(7));
}

TEST(Trace, EveryStageHasAName) {
  for (std::size_t i = 0; i < kStageCount; ++i) {
    EXPECT_FALSE(to_string(static_cast<Stage>(i)).empty());
    EXPECT_FALSE(describe(static_cast<Stage>(i)).empty());
  }
}

}  // namespace
}  // namespace tessera
