#include "runtime/llama/schema_bounds.h"

#include <gtest/gtest.h>
#include <json.h>

#include <string>

namespace tessera::runtime::llama {
namespace {

/// The message of the refusal; empty when the schema is fine.
std::string refusal(const std::string& schema) {
  const auto checked = check_schema(common_json::parse(schema));
  if (checked) return {};
  EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(checked.error().reason, "json_schema_not_supported");
  return checked.error().message;
}

std::string object_with(int n_properties) {
  std::string schema = R"({"type":"object","properties":{)";
  for (int i = 0; i < n_properties; ++i) {
    schema += (i > 0 ? ",\"p" : "\"p") + std::to_string(i) + R"(":{"type":"null"})";
  }
  return schema + "}}";
}

std::string pattern(const std::string& text) {
  return R"({"type":"string","pattern":")" + text + "\"}";
}

TEST(SchemaBounds, TakeAnOrdinarySchema) {
  EXPECT_EQ(refusal(R"({"type":"object","required":["a"],"properties":{
      "a":{"type":"array","maxItems":10,"items":{"$ref":"#/$defs/b"}},
      "c":{"enum":["x","y"]},"d":{"type":"string","pattern":"^[a-z]{2,5}-(x|y)\\d+$"}},
      "$defs":{"b":{"type":"string","maxLength":80}}})"),
            "");
}

TEST(SchemaBounds, CountPropertiesOverAllObjects) {
  EXPECT_EQ(refusal(object_with(100)), "");
  EXPECT_EQ(refusal(object_with(101)),
            "the JSON schema has 101 properties; at most 100 are supported");
  EXPECT_EQ(refusal(R"({"anyOf":[)" + object_with(60) + "," + object_with(60) + "]}"),
            "the JSON schema has 120 properties; at most 100 are supported");
}

TEST(SchemaBounds, CountEnumeratedValues) {
  std::string values = "0";
  for (int i = 1; i < 501; ++i) values += "," + std::to_string(i);

  EXPECT_EQ(refusal(R"({"enum":[)" + values + "]}"),
            "the JSON schema has 501 enumerated values; at most 500 are supported");
}

TEST(SchemaBounds, AddUpRepetitions) {
  EXPECT_EQ(refusal(R"({"type":"string","maxLength":1900})"), "");
  EXPECT_NE(refusal(R"({"type":"string","maxLength":1901})"), "");
  EXPECT_NE(refusal(R"({"type":"array","maxItems":1000,"items":{"maxLength":1000}})"), "");
  EXPECT_NE(refusal(R"({"type":"array","minItems":1e300})"), "");
  EXPECT_EQ(refusal(R"({"type":"array","minItems":-5})"), "");
  EXPECT_EQ(refusal(R"({"type":"array","minItems":"many"})"), "");  // the library refuses it
}

TEST(SchemaBounds, AddUpThePatternsCounts) {
  EXPECT_EQ(refusal(pattern("^a{3,1900}$")), "");
  EXPECT_NE(refusal(pattern("^a{1000}b{3,1000}$")), "");
  EXPECT_NE(refusal(pattern("^a{99999999999999999999999}$")), "");
}

TEST(SchemaBounds, RefuseAPatternThatRepeatsAGroupOrARepetition) {
  for (const char* text : {"^(a?){9}$", "^(ab)*$", "^(ab)+c$", "^a{3}{4}$", "^a*?$", "^a{2}+$"}) {
    EXPECT_EQ(refusal(pattern(text)), "the JSON schema has a pattern that repeats a group") << text;
  }
}

TEST(SchemaBounds, ReadClassesAndEscapesOfAPattern) {
  EXPECT_EQ(refusal(pattern(R"(^[()]{3}\\){2}[*{]+\\*?$)")), "");
}

TEST(SchemaBounds, RefuseALongPattern) {
  EXPECT_NE(refusal(pattern(std::string(129, 'a'))), "");
}

TEST(SchemaBounds, RefuseOtherDocuments) {
  EXPECT_EQ(refusal(R"({"$ref":"https://example.com/schema.json"})"),
            "the JSON schema refers to another document");
}

TEST(SchemaBounds, BoundTheDepth) {
  std::string schema = "{}";
  for (int i = 0; i < 31; ++i) schema = R"({"items":)" + schema + "}";
  EXPECT_EQ(refusal(schema), "");

  EXPECT_EQ(refusal(R"({"items":)" + schema + "}"), "the JSON schema is deeper than 32 levels");
}

TEST(SchemaBounds, WantAnObject) {
  for (const char* text : {"[]", "3", "\"text\"", "true", "null"}) EXPECT_NE(refusal(text), "");
}

TEST(SchemaBounds, BoundTheBytes) {
  EXPECT_TRUE(check_schema_bytes(16 * 1024));
  EXPECT_FALSE(check_schema_bytes(16 * 1024 + 1));
}

}  // namespace
}  // namespace tessera::runtime::llama
