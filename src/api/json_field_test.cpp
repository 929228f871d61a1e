#include "api/json_field.h"

#include <gtest/gtest.h>

namespace tessera::api {
namespace {

TEST(ParseJson, SaysWhereTheTextStopsBeingJsonAndNeverWhatItWas) {
  const char* broken[] = {"",     "{",           "not json", R"({"secret":)",
                          "{} x", R"("\ud800")", "NaN",      "1e999"};
  for (const char* text : broken) {
    const auto json = parse_json(text);

    ASSERT_FALSE(json) << text;
    EXPECT_EQ(json.error().reason, "invalid_json") << text;
    EXPECT_EQ(json.error().message.find("secret"), std::string::npos);
  }
  EXPECT_EQ(parse_json(R"({"a":1,})").error().message,
            "the body is not valid JSON at byte 8 (counted without image data)");
}

TEST(ParseJson, TellsBrokenUtf8Apart) {
  const char* broken[] = {"\"\xC3\"", "\"\x80\"", "\"\xC0\xAF\"", "\"\xF5\x80\x80\x80\""};
  for (const char* text : broken) {
    EXPECT_EQ(parse_json(text).error().reason, "invalid_utf8");
  }
  // Sequences of a right length but a forbidden value are the parser's to refuse.
  EXPECT_EQ(parse_json("\"\xED\xA0\x80\"").error().reason, "invalid_json");
  EXPECT_TRUE(parse_json("\"é€🙂\""));
}

TEST(Field, KnowsItsPath) {
  const Json json = parse_json(R"({"a":[{"b":null,"c":"x"}]})").value();
  const Field field = Field(json, "").find("a")->at(0);

  EXPECT_EQ(field.path(), "a[0]");
  EXPECT_FALSE(field.find("b"));
  EXPECT_EQ(*field.find("c")->string(), "x");
  EXPECT_EQ(field.require("b").error().message, "'a[0].b' is missing");
  EXPECT_EQ(field.find("c")->boolean().error().message, "'a[0].c' must be a boolean, not a string");
  EXPECT_EQ(field.find("c")->boolean().error().param, "a[0].c");
}

TEST(Field, TakesOnlyWholeNumbersInTheirRangeAsIntegers) {
  const Json json =
      parse_json(R"([5, -5, 1.0, "1", 18446744073709551615, 9223372036854775807])").value();
  const Field field(json, "n");

  EXPECT_EQ(*field.at(0).integer(1, 5), 5);
  EXPECT_EQ(field.at(0).integer(1, 4).error().message, "'n[0]' must be between 1 and 4, not 5");
  EXPECT_EQ(field.at(1).integer(0).error().message, "'n[1]' must be at least 0, not -5");
  EXPECT_EQ(field.at(2).integer(0).error().reason, "invalid_type");
  EXPECT_EQ(field.at(3).integer(0).error().reason, "invalid_type");
  EXPECT_EQ(field.at(4).integer(0).error().reason, "invalid_value");
  EXPECT_EQ(*field.at(5).integer(0), std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace tessera::api
