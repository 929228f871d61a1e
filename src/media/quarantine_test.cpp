#include "media/quarantine.h"

#include <gtest/gtest.h>

namespace tessera::media {
namespace {

using namespace std::chrono_literals;

constexpr TenantId kAnna{1};
constexpr TenantId kBen{2};

class QuarantineTest : public ::testing::Test {
 protected:
  static Digest file(std::uint8_t which) {
    Digest content;
    content.bytes.fill(which);
    return content;
  }

  Result<void> check(TenantId tenant, std::uint8_t which) {
    TSR_RETURN_IF_ERROR(quarantine_.check_tenant(tenant));
    TSR_RETURN_IF_ERROR(quarantine_.check_file(tenant, 0, file(0xff)));
    return quarantine_.check_file(tenant, 1, file(which));
  }

  ManualClock clock_;
  Quarantine quarantine_{clock_};
};

TEST_F(QuarantineTest, RefusesAFileThatStoppedADecoderAndSaysWhichOne) {
  EXPECT_TRUE(check(kAnna, 1));
  quarantine_.record_death(kAnna, file(1));
  const auto refused = check(kAnna, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnprocessableMedia);
  EXPECT_EQ(refused.error().reason, "media_decoder_failed");
  EXPECT_EQ(refused.error().message,
            "image 2: this file stopped the decoder before and is refused for 10 minutes");
  EXPECT_TRUE(check(kAnna, 2));
}

TEST_F(QuarantineTest, RefusesADamagedFileAsItWasRefusedBefore) {
  quarantine_.record_damage(
      kAnna, file(1), make_error(ErrorCode::kInvalidArgument, "image_invalid", "image 7: broken"));
  const auto refused = check(kAnna, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().reason, "image_invalid");
  EXPECT_EQ(refused.error().message,
            "image 2: this file could not be decoded before and is refused for 10 minutes");
  EXPECT_TRUE(check(kBen, 1));
}

TEST_F(QuarantineTest, AFileThatTookTooLongIsRefusedForAMinuteAndSuspendsNobody) {
  for (std::uint8_t i = 0; i < 10 * kDeathsMax; ++i) quarantine_.record_timeout(kAnna, file(i));
  EXPECT_TRUE(check(kAnna, 100));
  const auto refused = check(kAnna, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "media_decoder_failed");
  EXPECT_EQ(refused.error().message,
            "image 2: this file took the decoder too long before and is refused for 1 minute");
  clock_.advance(kSlowFileRefused);
  EXPECT_TRUE(check(kAnna, 1));
}

TEST_F(QuarantineTest, DamageSuspendsNobody) {
  for (std::uint8_t i = 0; i < 10 * kDeathsMax; ++i) {
    quarantine_.record_damage(kAnna, file(i),
                              make_error(ErrorCode::kInvalidArgument, "image_invalid", ""));
  }
  EXPECT_TRUE(check(kAnna, 100));
}

TEST_F(QuarantineTest, RefusesNothingOfOtherTenants) {
  for (std::uint8_t i = 0; i < 10; ++i) quarantine_.record_death(kAnna, file(i));
  EXPECT_FALSE(check(kAnna, 100));
  EXPECT_TRUE(check(kBen, 1));
}

TEST_F(QuarantineTest, ForgetsAFileAfterItsTime) {
  quarantine_.record_death(kAnna, file(1));
  clock_.advance(kFileRefused - 1ms);
  EXPECT_FALSE(check(kAnna, 1));
  clock_.advance(1ms);
  EXPECT_TRUE(check(kAnna, 1));
}

TEST_F(QuarantineTest, SuspendsATenantAtTheFifthDeathOfAMinute) {
  for (std::uint8_t i = 1; i < kDeathsMax; ++i) quarantine_.record_death(kAnna, file(i));
  EXPECT_TRUE(check(kAnna, 100));
  EXPECT_EQ(quarantine_.n_suspended(), 0);
  quarantine_.record_death(kAnna, file(99));
  clock_.advance(10s);
  const auto refused = check(kAnna, 100);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.error().reason, "media_suspended");
  EXPECT_EQ(refused.error().retry_after, kTenantRefused - 10s);
  EXPECT_EQ(quarantine_.n_suspended(), 1);
}

TEST_F(QuarantineTest, LiftsASuspensionAfterItsTime) {
  for (std::uint8_t i = 0; i < kDeathsMax; ++i) quarantine_.record_death(kAnna, file(i));
  clock_.advance(kTenantRefused);
  EXPECT_TRUE(check(kAnna, 100));
  EXPECT_EQ(quarantine_.n_suspended(), 0);
}

TEST_F(QuarantineTest, DoesNotSuspendForDeathsThatAreFarApart) {
  for (std::uint8_t i = 0; i < 20; ++i) {
    quarantine_.record_death(kAnna, file(i));
    clock_.advance(std::chrono::seconds(kDeathWindow) / (kDeathsMax - 1));
  }
  EXPECT_TRUE(check(kAnna, 100));
}

TEST_F(QuarantineTest, RemembersABoundedNumberOfFilesAndForgetsTheOldest) {
  for (std::size_t i = 0; i <= kRefusedFilesMax; ++i) {
    quarantine_.record_death(kAnna, file(static_cast<std::uint8_t>(i)));
  }
  clock_.advance(kTenantRefused);  // shorter than kFileRefused
  EXPECT_TRUE(check(kAnna, 0));
  EXPECT_FALSE(check(kAnna, kRefusedFilesMax));
}

}  // namespace
}  // namespace tessera::media
