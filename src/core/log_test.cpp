#include "core/log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

namespace tessera {
namespace {

TEST(Log, WritesTypedFieldsOnOneLine) {
  const std::initializer_list<LogField> fields = {{"status", 200},
                                                  {"seconds", 0.25},
                                                  {"tenant", TenantId{7}},
                                                  {"error", ErrorCode::kTooLarge},
                                                  {"route", "chat"}};
  EXPECT_EQ(log_line(LogFormat::kText, "http_request", fields),
            "http_request status=200 seconds=0.25 tenant=7 error=too_large route=chat");
  EXPECT_EQ(log_line(LogFormat::kJson, "http_request", fields),
            R"("event":"http_request","status":200,"seconds":0.25,"tenant":7,)"
            R"("error":"too_large","route":"chat")");
  EXPECT_EQ(log_line(LogFormat::kText, "x", {}), "x");
}

TEST(Log, WritesFractionsInMillionthsAndNeverWithAnExponent) {
  EXPECT_EQ(log_line(LogFormat::kText, "x", {{"seconds", 0.0000125}, {"share", 1.0 / 3}}),
            "x seconds=0.000013 share=0.333333");
  EXPECT_EQ(log_line(LogFormat::kText, "x", {{"large", 1e20}}), "x large=100000000000000000000");
}

TEST(Log, WritesANumberThatIsNoneAsNull) {
  EXPECT_EQ(log_line(LogFormat::kJson, "x", {{"seconds", std::nan("")}}),
            R"("event":"x","seconds":null)");
}

TEST(Log, WritesJsonWithTimeAndLevel) {
  set_log_format(LogFormat::kJson);
  testing::internal::CaptureStderr();
  log(LogLevel::kError, "kept", {{"n", 1}});
  const std::string written = testing::internal::GetCapturedStderr();
  set_log_format(LogFormat::kText);
  EXPECT_TRUE(written.starts_with("{\"time\":\"2")) << written;
  EXPECT_TRUE(written.ends_with("Z\",\"level\":\"error\",\"event\":\"kept\",\"n\":1}\n"))
      << written;
}

TEST(Log, CannotBeGivenStringsOfRunTime) {
  EXPECT_FALSE((std::is_constructible_v<LogField, StaticText, std::string>));
  EXPECT_FALSE((std::is_constructible_v<LogField, StaticText, std::string_view>));
}

TEST(Log, DropsWhatIsLessUrgentThanItsLevel) {
  set_log_level(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  log(LogLevel::kInfo, "dropped");
  log(LogLevel::kError, "kept");
  const std::string written = testing::internal::GetCapturedStderr();
  set_log_level(LogLevel::kInfo);

  EXPECT_EQ(written.find("dropped"), std::string::npos);
  EXPECT_NE(written.find("Z error kept\n"), std::string::npos);
}

}  // namespace
}  // namespace tessera
