#include "core/log.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace tessera {
namespace {

TEST(Log, WritesTypedFieldsOnOneLine) {
  EXPECT_EQ(log_line(LogLevel::kInfo, "http_request",
                     {{"status", 200},
                      {"seconds", 0.25},
                      {"tenant", TenantId{7}},
                      {"error", ErrorCode::kTooLarge},
                      {"route", "chat"}}),
            "info http_request status=200 seconds=0.25 tenant=7 error=too_large route=chat");
  EXPECT_EQ(log_line(LogLevel::kWarning, "x", {}), "warning x");
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
