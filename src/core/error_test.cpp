#include "core/error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/result.h"

namespace tessera {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) {
    return make_error(ErrorCode::kInvalidArgument, "odd", std::to_string(number) + " is odd");
  }
  return number / 2;
}

Result<int> quarter(int number) {
  TSR_ASSIGN_OR_RETURN(const int first, half(number));
  TSR_ASSIGN_OR_RETURN(const int second, half(first));
  return second;
}

Result<void> check_even(int number) {
  TSR_RETURN_IF_ERROR(half(number));
  return {};
}

TEST(ErrorCode, EveryCodeHasAWordOfItsOwn) {
  std::set<std::string_view> words;
  for (int code = 0; code < kErrorCodeCount; ++code) {
    words.insert(to_string(static_cast<ErrorCode>(code)));
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(kErrorCodeCount));
}

TEST(Result, CarriesTheValueOrTheFirstError) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
  EXPECT_EQ(quarter(7).error().message, "7 is odd");
  EXPECT_TRUE(check_even(2));
  EXPECT_EQ(check_even(1).error().reason, "odd");
}

TEST(ResultDeathTest, ValueOfAnErrorIsAProgrammersError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(static_cast<void>(half(1).value()), "has_value");
}

}  // namespace
}  // namespace tessera
