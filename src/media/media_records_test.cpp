#include "media/media_records.h"

#include <gtest/gtest.h>

namespace tessera::media {
namespace {

constexpr TenantId kTenant{1};

Digest content(int i) {
  Digest digest;
  digest.bytes[5] = static_cast<std::uint8_t>(i);
  return digest;
}

wire::ProbeReply of_width(int width) {
  wire::ProbeReply reply;
  reply.width = width;
  return reply;
}

TEST(MediaRecords, AreFoundByTheirTenantAlone) {
  MediaRecords records;
  records.store(kTenant, content(1), 1, of_width(7));

  EXPECT_EQ(records.find(kTenant, content(1), 1)->width, 7);
  EXPECT_FALSE(records.find(kTenant, content(2), 1));
  EXPECT_FALSE(records.find(TenantId{2}, content(1), 1));
}

TEST(MediaRecords, AnotherNumberOfFramesIsAnotherRecord) {
  MediaRecords records;
  records.store(kTenant, content(1), 1, of_width(7));
  EXPECT_FALSE(records.find(kTenant, content(1), 2));

  records.store(kTenant, content(1), 2, of_width(8));
  EXPECT_EQ(records.find(kTenant, content(1), 2)->width, 8);
  EXPECT_EQ(records.find(kTenant, content(1), 1)->width, 7);
}

TEST(MediaRecords, TheOneUsedLongestAgoIsForgottenFirst) {
  MediaRecords records(2);
  records.store(kTenant, content(1), 1, of_width(1));
  records.store(kTenant, content(2), 1, of_width(2));
  EXPECT_TRUE(records.find(kTenant, content(1), 1));
  records.store(kTenant, content(3), 1, of_width(3));

  EXPECT_TRUE(records.find(kTenant, content(1), 1));
  EXPECT_FALSE(records.find(kTenant, content(2), 1));
  EXPECT_TRUE(records.find(kTenant, content(3), 1));
}

TEST(MediaRecords, ATenantCanBeForgotten) {
  MediaRecords records;
  records.store(kTenant, content(1), 1, of_width(1));
  records.store(TenantId{2}, content(1), 1, of_width(2));

  records.forget(kTenant);

  EXPECT_FALSE(records.find(kTenant, content(1), 1));
  EXPECT_TRUE(records.find(TenantId{2}, content(1), 1));
}

}  // namespace
}  // namespace tessera::media
