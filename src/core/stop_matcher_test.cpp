#include "core/stop_matcher.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

StopMatcher make(const std::vector<std::string>& stop) {
  return StopMatcher(stop);
}

TEST(StopMatcher, ShowsEverythingWithoutStopStrings) {
  StopMatcher matcher = make({});

  EXPECT_EQ(matcher.feed("abc").safe_end, 3U);
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopMatcher, HoldsBackAPossibleStartAndReleasesItWhenItIsNone) {
  StopMatcher matcher = make({"END"});

  EXPECT_EQ(matcher.feed("say EN").safe_end, 4U);
  EXPECT_EQ(matcher.feed("T").safe_end, 7U);
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopMatcher, FindsAStopStringAcrossPieces) {
  StopMatcher matcher = make({"END"});

  EXPECT_FALSE(matcher.feed("sayE").stop_begin.has_value());
  EXPECT_FALSE(matcher.feed("N").stop_begin.has_value());
  const StopMatcher::Progress progress = matcher.feed("D and more");

  EXPECT_EQ(progress.stop_begin, 3U);
  EXPECT_EQ(progress.safe_end, 3U);
  EXPECT_TRUE(matcher.stopped());
}

TEST(StopMatcher, FallsBackToTheLongestBorder) {
  StopMatcher matcher = make({"aab"});

  EXPECT_EQ(matcher.feed("aaaab").stop_begin, 2U);
}

TEST(StopMatcher, PrefersTheFirstCompletedAndThenTheLongest) {
  StopMatcher first = make({"cdef", "de"});
  EXPECT_EQ(first.feed("abcdef").stop_begin, 3U);

  StopMatcher longest = make({"d", "cd", "bcd"});
  EXPECT_EQ(longest.feed("abcd").stop_begin, 1U);
}

TEST(StopMatcher, IgnoresEmptyStopStringsAndBytesAfterTheStop) {
  StopMatcher matcher = make({"", "x"});

  EXPECT_EQ(matcher.feed("ab").safe_end, 2U);
  EXPECT_EQ(matcher.feed("x").stop_begin, 2U);
  EXPECT_EQ(matcher.feed("yx").stop_begin, 2U);
}

// Every text of up to seven letters over {a, b} against a naive search, byte by byte and whole.
TEST(StopMatcher, AgreesWithANaiveSearchForEverySplit) {
  const std::vector<std::string> stop = {"aba", "bbab", "abb"};
  for (unsigned bits = 0; bits < 128; ++bits) {
    std::string text;
    for (unsigned i = 0; i < 7; ++i) text += ((bits >> i) & 1U) != 0 ? 'b' : 'a';
    std::optional<std::size_t> expected;
    for (std::size_t end = 1; end <= text.size() && !expected; ++end) {
      for (const std::string& candidate : stop) {
        if (!std::string_view(text).substr(0, end).ends_with(candidate)) continue;
        const std::size_t begin = end - candidate.size();
        expected = expected ? std::min(*expected, begin) : begin;
      }
    }

    for (std::size_t split = 0; split <= text.size(); ++split) {
      StopMatcher matcher(stop);
      const std::size_t before = matcher.feed(text.substr(0, split)).safe_end;
      const StopMatcher::Progress progress = matcher.feed(text.substr(split));
      EXPECT_EQ(progress.stop_begin, expected) << text << " split at " << split;
      EXPECT_LE(before, progress.safe_end) << text << " split at " << split;
    }
  }
}

}  // namespace
}  // namespace tessera
