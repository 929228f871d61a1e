#include "core/either_stop.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(EitherStop, StopsWithTheFirst) {
  std::stop_source one;
  const std::stop_source other;
  const EitherStop either(one.get_token(), other.get_token());
  EXPECT_FALSE(either.token().stop_requested());
  one.request_stop();
  EXPECT_TRUE(either.token().stop_requested());
}

TEST(EitherStop, StopsWithTheSecond) {
  const std::stop_source one;
  std::stop_source other;
  const EitherStop either(one.get_token(), other.get_token());
  other.request_stop();
  EXPECT_TRUE(either.token().stop_requested());
}

TEST(EitherStop, IsStoppedWhenOneWasBefore) {
  std::stop_source one;
  one.request_stop();
  const EitherStop either(one.get_token(), std::stop_token());
  EXPECT_TRUE(either.token().stop_requested());
}

TEST(EitherStop, ATokenOutlivesIt) {
  std::stop_source one;
  std::stop_token token;
  {
    const EitherStop either(one.get_token(), std::stop_token());
    token = either.token();
  }
  one.request_stop();
  EXPECT_FALSE(token.stop_requested());
}

}  // namespace
}  // namespace tessera
