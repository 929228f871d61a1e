#include "emit/choice_emitter.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace tessera::emit {
namespace {

using Strings = std::vector<std::string>;

std::string emit_whole(const Strings& stop, const std::string& bytes) {
  ChoiceEmitter emitter(stop);
  std::string text = emitter.feed(bytes);
  return text + emitter.finish();
}

/// Table 3-7 of the Unicode standard, by decoding: independent of the code under test.
bool is_valid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead >= 0x80 && (lead < 0xC0 || lead >= 0xF8)) return false;
    if (i + length > text.size()) return false;
    unsigned value = length == 1 ? lead : lead & (0x7FU >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0U) != 0x80U) return false;
      value = (value << 6U) | (next & 0x3FU);
    }
    constexpr unsigned kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < kSmallest[length] || value > 0x10FFFF) return false;
    if (value >= 0xD800 && value <= 0xDFFF) return false;
    i += length;
  }
  return true;
}

/// Bytes that meet: letters of the stop strings, parts of characters, anything.
rc::Gen<std::string> gen_bytes() {
  return rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::element('a', 'b', 'c'),
                     rc::gen::element('\xE2', '\x82', '\xAC', '\xF0', '\x9F', '\x98', '\x80'),
                     rc::gen::arbitrary<char>()));
}

rc::Gen<Strings> gen_stop() {
  return rc::gen::resize(
      4, rc::gen::container<Strings>(rc::gen::nonEmpty(rc::gen::container<std::string>(
             rc::gen::element('a', 'b', 'c', '\xE2', '\x82', '\xAC')))));
}

Strings split(const std::string& bytes, const std::vector<std::size_t>& cuts) {
  std::vector<std::size_t> borders = {0, bytes.size()};
  for (const std::size_t cut : cuts) borders.push_back(cut % (bytes.size() + 1));
  std::sort(borders.begin(), borders.end());
  Strings pieces;
  for (std::size_t i = 1; i < borders.size(); ++i) {
    pieces.push_back(bytes.substr(borders[i - 1], borders[i] - borders[i - 1]));
  }
  return pieces;
}

TEST(ChoiceEmitter, SendsPlainTextAtOnce) {
  ChoiceEmitter emitter(Strings{});

  EXPECT_EQ(emitter.feed("hello"), "hello");
  EXPECT_EQ(emitter.finish(), "");
}

TEST(ChoiceEmitter, CutsTheTextBeforeAStopStringAcrossTokens) {
  ChoiceEmitter emitter(Strings{"END"});

  EXPECT_EQ(emitter.feed("one E"), "one ");
  EXPECT_EQ(emitter.feed("N"), "");
  EXPECT_EQ(emitter.feed("D two"), "");
  EXPECT_TRUE(emitter.stopped());
  EXPECT_EQ(emitter.feed("three"), "");
  EXPECT_EQ(emitter.finish(), "");
}

TEST(ChoiceEmitter, ReleasesAnUnfinishedStopStringAtTheEnd) {
  ChoiceEmitter emitter(Strings{"END"});

  EXPECT_EQ(emitter.feed("the EN"), "the ");
  EXPECT_EQ(emitter.finish(), "EN");
  EXPECT_FALSE(emitter.stopped());
}

TEST(ChoiceEmitter, ReplacesACharacterThatTheStopStringLeavesUnfinished) {
  ChoiceEmitter emitter(Strings{"."});

  EXPECT_EQ(emitter.feed("a\xE2\x82"), "a");
  EXPECT_EQ(emitter.feed("."), "");
  EXPECT_EQ(emitter.finish(), "\xEF\xBF\xBD");
}

RC_GTEST_PROP(ChoiceEmitter, AnySplitGivesTheSameValidText, ()) {
  const Strings stop = *gen_stop();
  const std::string bytes = *gen_bytes();
  const auto cuts = *rc::gen::arbitrary<std::vector<std::size_t>>();

  ChoiceEmitter emitter(stop);
  std::string text;
  for (const std::string& piece : split(bytes, cuts)) {
    const std::string delta = emitter.feed(piece);
    RC_ASSERT(is_valid_utf8(delta));
    text += delta;
  }
  text += emitter.finish();

  RC_ASSERT(is_valid_utf8(text));
  RC_ASSERT(text == emit_whole(stop, bytes));
}

RC_GTEST_PROP(ChoiceEmitter, StopsAtTheFirstCompletedStopStringAtAnySplit, ()) {
  const std::string before = *rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c'));
  const std::string after = *rc::gen::container<std::string>(rc::gen::element('a', 'b', 'X'));
  const auto cuts = *rc::gen::arbitrary<std::vector<std::size_t>>();

  ChoiceEmitter emitter(Strings{"XY", "YX"});
  std::string text;
  for (const std::string& piece : split(before + "XY" + after, cuts)) text += emitter.feed(piece);
  text += emitter.finish();

  RC_ASSERT(emitter.stopped());
  RC_ASSERT(text == before);
}

}  // namespace
}  // namespace tessera::emit
