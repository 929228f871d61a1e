#include "tidy/source_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::tidy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SourceText, SeparatesCodeFromComments) {
  const SourceText parts = take_apart("a;// why\nb;/* it\nis */c;\n");

  EXPECT_EQ(parts.code, "a;      \nb;     \n     c;\n");
  EXPECT_EQ(parts.comments, "     why\n     it\nis     \n");
}

TEST(SourceText, BlanksWhatIsQuoted) {
  const SourceText parts = take_apart(R"(f("a//\"b", 'x', '\''); g();)");

  EXPECT_EQ(parts.code, R"(f("      ", ' ', '  '); g();)");
  EXPECT_THAT(parts.comments, Not(HasSubstr("b")));
}

TEST(SourceText, BlanksRawStringsOverLines) {
  const SourceText parts = take_apart("auto a = R\"x(\" )\" // y\n)x\"; int b;");

  EXPECT_THAT(parts.code, HasSubstr("; int b;"));
  EXPECT_THAT(parts.code, Not(HasSubstr("y")));
  EXPECT_EQ(parts.code.size(), std::string_view("auto a = R\"x(\" )\" // y\n)x\"; int b;").size());
}

TEST(SourceText, DigitSeparatorsAreNoQuotes) {
  EXPECT_EQ(take_apart("int a = 40'000'000; int b;").code, "int a = 40'000'000; int b;");
}

TEST(SourceText, EndsInsideAnythingWithoutHarm) {
  for (const char* text : {"\"a", "'", "/* a", "// a", "R\"(", "R\"", "\"\\", "/"}) {
    EXPECT_EQ(take_apart(text).code.size(), std::string_view(text).size()) << text;
  }
}

TEST(SourceText, IdentifiersKnowTheirLineAndWhatTheyFollow) {
  const auto words = identifiers("a1 = 2b;\nx->c_d\n");

  ASSERT_EQ(words.size(), 3U);
  EXPECT_EQ(words[0].text, "a1");
  EXPECT_EQ(words[2].text, "c_d");
  EXPECT_EQ(words[2].line, 2);
  EXPECT_TRUE(words[2].is_member);
  EXPECT_FALSE(words[1].is_member);
}

TEST(SourceText, IdentifiersAreMadeOfWords) {
  EXPECT_THAT(words_of("decode_token_rows_"), ElementsAre("decode", "token", "rows"));
  EXPECT_THAT(words_of("kNoKvSlot"), ElementsAre("no", "kv", "slot"));
  EXPECT_THAT(words_of("KVCache"), ElementsAre("kv", "cache"));
  EXPECT_THAT(words_of("TSR_CHECK"), ElementsAre("tsr", "check"));
  EXPECT_THAT(words_of("_"), ElementsAre());
}

TEST(SourceText, LinesAreCountedWithAndWithoutALastEnd) {
  EXPECT_EQ(lines_of("").size(), 0U);
  EXPECT_EQ(lines_of("a").size(), 1U);
  EXPECT_EQ(lines_of("a\n").size(), 1U);
  EXPECT_EQ(lines_of("a\n\nb").size(), 3U);
}

TEST(SourceText, ColumnsAreCharactersNotBytes) {
  EXPECT_EQ(columns_of("a→b"), 3U);
  EXPECT_EQ(line_at("a\nb\nc", 4), 3);
}

}  // namespace
}  // namespace tessera::tidy
