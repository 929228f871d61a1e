#include "uploads/header_params.h"

#include <gtest/gtest.h>

namespace tessera::uploads {
namespace {

TEST(HeaderParams, TokenAndParametersAreTakenApart) {
  const auto value = parse_header_value(" Form-Data ; NAME=\"file\"; filename=\"a;b=c.png\" ; x=y");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->token, "form-data");
  EXPECT_EQ(value->param("name"), "file");
  EXPECT_EQ(value->param("filename"), "a;b=c.png");
  EXPECT_EQ(value->param("x"), "y");
  EXPECT_FALSE(value->param("z"));
}

TEST(HeaderParams, OnlyQuotesAndBackslashesAreEscaped) {
  EXPECT_EQ(parse_header_value(R"(f; n="a\"b\\c")")->param("n"), R"(a"b\c)");
  EXPECT_EQ(parse_header_value(R"(f; n="C:\dir\file")")->param("n"), R"(C:\dir\file)");
}

TEST(HeaderParams, BrokenValuesAreRefused) {
  for (const char* text : {"", ";", "f;", "f; x", "f; =y", "f; x=\"open", "f; x=\"a\"b",
                           "f; x=1; X=2", "f; n=\"a\\\""}) {
    EXPECT_FALSE(parse_header_value(text)) << text;
  }
  std::string many = "f";
  for (int i = 0; i < 9; ++i) many += "; p" + std::to_string(i) + "=1";
  EXPECT_FALSE(parse_header_value(many));
}

TEST(HeaderParams, FieldNameIsFoundAmongOtherHeaders) {
  const auto name = form_field_name(
      "\r\nContent-Type: image/png\r\nCONTENT-DISPOSITION: form-data; name=\"file\"; "
      "filename=\"x\"\r\nContent-Transfer-Encoding: binary");
  ASSERT_TRUE(name);
  EXPECT_EQ(*name, "file");
}

TEST(HeaderParams, PartsWithoutOneClearNameAreRefused) {
  for (const char* headers :
       {"", "\r\n", "Content-Type: image/png", "Content-Disposition: attachment; name=\"a\"",
        "Content-Disposition: form-data", "Content-Disposition", "x\r\ny",
        "Content-Disposition: form-data; name=\"a\"\r\nContent-Disposition: form-data; name=\"b\"",
        "Content-Disposition: form-data;\r\n name=\"a\"",
        "Content-Disposition: form-data; name=\"a\"\r\nContent-Transfer-Encoding: base64"}) {
    const auto name = form_field_name(headers);
    ASSERT_FALSE(name) << headers;
    EXPECT_EQ(name.error().reason, "invalid_multipart");
  }
}

}  // namespace
}  // namespace tessera::uploads
