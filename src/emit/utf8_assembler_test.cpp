#include "emit/utf8_assembler.h"

#include <gtest/gtest.h>

namespace tessera::emit {
namespace {

std::string assemble(std::string_view bytes) {
  Utf8Assembler assembler;
  std::string text;
  assembler.feed(bytes, text);
  assembler.finish(text);
  return text;
}

TEST(Utf8Assembler, HoldsACharacterUntilItIsWhole) {
  Utf8Assembler assembler;
  std::string text;

  assembler.feed("\xF0\x9F", text);
  EXPECT_EQ(text, "");
  assembler.feed("\x98", text);
  EXPECT_EQ(text, "");
  assembler.feed("\x80!", text);
  EXPECT_EQ(text, "\xF0\x9F\x98\x80!");
}

TEST(Utf8Assembler, KeepsEveryScalarValueAtTheBordersOfItsLength) {
  for (const char* text :
       {"\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(assemble(text), text);
  }
}

TEST(Utf8Assembler, ReplacesAnUnfinishedTailOnce) {
  EXPECT_EQ(assemble("a\xF0\x9F\x98"), "a\xEF\xBF\xBD");
}

TEST(Utf8Assembler, ReplacesEachMaximalPartInTheMiddle) {
  // The example of the Unicode standard, §3.9, table 3-11: C0 AF E0 80 BF F0 81 82 41.
  EXPECT_EQ(assemble("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
            "\xEF\xBF\xBD\xEF\xBF\xBD\x41");
  // Table 3-11, truncated sequences: E1 80 E2 F0 91 92 F1 BF 41.
  EXPECT_EQ(assemble("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"),
            "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\x41");
}

TEST(Utf8Assembler, RefusesSurrogatesAndValuesAboveTheLast) {
  EXPECT_EQ(assemble("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(assemble("\xF4\x90\x80\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(assemble("\xFF"), "\xEF\xBF\xBD");
}

}  // namespace
}  // namespace tessera::emit
