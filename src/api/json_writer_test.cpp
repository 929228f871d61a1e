#include "api/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera::api {
namespace {

std::string text(std::string_view value) {
  JsonWriter json;
  json.text(value);
  return std::move(json).take();
}

TEST(JsonWriter, PutsCommasBetweenMembersAndElements) {
  JsonWriter json;
  json.begin_object().key("a").begin_array().number(1).number(-2).begin_array().end_array();
  json.end_array().key("b").begin_object().end_object().key("c").null().end_object();

  EXPECT_EQ(std::move(json).take(), R"({"a":[1,-2,[]],"b":{},"c":null})");
}

TEST(JsonWriter, EscapesWhatJsonMustAndKeepsTheRest) {
  EXPECT_EQ(text("a\"b\\c/\n\r\t\x01\x1f\x7f"), "\"a\\\"b\\\\c/\\n\\r\\t\\u0001\\u001f\x7f\"");
  EXPECT_EQ(text(std::string_view("\0x", 2)), R"("\u0000x")");
  EXPECT_EQ(text("é€🙂"), "\"é€🙂\"");
}

TEST(JsonWriter, ReplacesEveryByteThatIsNoCharacter) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(text("\xC3"), '"' + r + '"');                          // cut
  EXPECT_EQ(text("\x80z"), '"' + r + "z\"");                       // no lead
  EXPECT_EQ(text("\xC0\xAF"), '"' + r + r + '"');                  // overlong
  EXPECT_EQ(text("\xED\xA0\x80"), '"' + r + r + r + '"');          // surrogate
  EXPECT_EQ(text("\xF4\x90\x80\x80"), '"' + r + r + r + r + '"');  // beyond U+10FFFF
  EXPECT_EQ(text("\xE2\x82x"), '"' + r + r + "x\"");
}

TEST(JsonWriter, WritesNumbersThatEveryParserReads) {
  JsonWriter json;
  json.begin_array().seconds(1.5).seconds(0.0000004).seconds(std::nan("")).seconds(1e300);
  json.real(-0.25F).real(-std::numeric_limits<float>::infinity()).end_array();

  EXPECT_EQ(std::move(json).take(),
            "[1.500000,0.000000,null,1000000000000000.000000,-0.25,-3.4028235e+38]");
}

}  // namespace
}  // namespace tessera::api
