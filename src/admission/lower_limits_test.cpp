#include "admission/lower_limits.h"

#include <gtest/gtest.h>

namespace tessera::admission {
namespace {

TEST(LowerLimits, LeavesTheOperatorsWithoutAWish) {
  Limits limits;
  limits.images_max = 7;
  const auto lowered = lower_limits(limits, {});
  ASSERT_TRUE(lowered);
  EXPECT_EQ(lowered->images_max, 7);
}

TEST(LowerLimits, TakesALowerValueForEachLimit) {
  for (const LowerableLimit& limit : lowerable_limits()) {
    const LimitWish wish{std::string(limit.name), 1};
    const auto lowered = lower_limits(Limits{}, std::span(&wish, 1));
    ASSERT_TRUE(lowered) << limit.name;
    EXPECT_EQ(limit.get(*lowered), 1) << limit.name;
  }
}

TEST(LowerLimits, TakesTheOperatorsValueItselfAndRefusesOneMore) {
  for (const LowerableLimit& limit : lowerable_limits()) {
    LimitWish wish{std::string(limit.name), limit.get(Limits{})};
    EXPECT_TRUE(lower_limits(Limits{}, std::span(&wish, 1))) << limit.name;
    ++wish.value;
    const auto raised = lower_limits(Limits{}, std::span(&wish, 1));
    ASSERT_FALSE(raised) << limit.name;
    EXPECT_EQ(raised.error().reason, "limit_not_lower");
    EXPECT_EQ(raised.error().param, "tessera.limits." + std::string(limit.name));
  }
}

TEST(LowerLimits, SaysValueAndLimit) {
  const LimitWish wish{"images_max", 17};
  const auto raised = lower_limits(Limits{}, std::span(&wish, 1));
  ASSERT_FALSE(raised);
  EXPECT_EQ(raised.error().message,
            "tessera.limits.images_max: 17 exceeds this server's 16; a request may lower a limit, "
            "not raise it");
}

TEST(LowerLimits, RefusesUnknownNamesWithoutRepeatingThem) {
  const LimitWish wish{"body_bytes_max", 1};
  const auto refused = lower_limits(Limits{}, std::span(&wish, 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "unknown_limit");
  EXPECT_EQ(refused.error().message.find("body_bytes_max"), std::string::npos);
}

TEST(LowerLimits, RefusesNegativeValues) {
  const LimitWish wish{"images_max", -1};
  EXPECT_FALSE(lower_limits(Limits{}, std::span(&wish, 1)));
}

TEST(LowerLimits, LowersTheDefaultOutputWithItsLimit) {
  const LimitWish wish{"output_tokens_max", 5};
  const auto lowered = lower_limits(Limits{}, std::span(&wish, 1));
  ASSERT_TRUE(lowered);
  EXPECT_EQ(lowered->output_tokens_default, 5);
}

}  // namespace
}  // namespace tessera::admission
