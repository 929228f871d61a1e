#include "uploads/upload_store.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <set>

namespace tessera::uploads {
namespace {

using std::chrono::seconds;

EncodedMedia file_of(std::string_view bytes) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return {std::move(fd), bytes.size()};
}

std::string bytes_of(const EncodedMedia& media) {
  std::string bytes(media.size_bytes, '\0');
  EXPECT_EQ(::pread(media.fd.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  return bytes;
}

template <typename T>
std::string reason_of(const Result<T>& result) {
  return result ? "accepted" : result.error().reason;
}

std::ptrdiff_t count_open_fds() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

constexpr TenantId kTenant{1};
constexpr TenantId kOther{2};

const UploadLimits kSmall{.time_to_live = seconds(100),
                          .file_bytes_max = 50,
                          .tenant_bytes_max = 100,
                          .total_bytes_max = 150,
                          .tenant_files_max = 3,
                          .total_files_max = 4};

class UploadStoreTest : public ::testing::Test {
 protected:
  std::string add(TenantId tenant, std::size_t size_bytes) {
    const auto info = store_.add(tenant, file_of(std::string(size_bytes, 'x')));
    return info ? info->id : info.error().reason;
  }

  ManualClock clock_;
  UploadStore store_{kSmall, clock_};
};

TEST_F(UploadStoreTest, AFileIsHandedOutAsOftenAsItIsAskedFor) {
  const auto info = store_.add(kTenant, file_of("a cat"));
  ASSERT_TRUE(info);
  EXPECT_EQ(info->size_bytes, 5U);
  EXPECT_EQ(info->expires_in, seconds(100));

  EXPECT_EQ(bytes_of(*store_.get(kTenant, info->id)), "a cat");
  EXPECT_EQ(bytes_of(*store_.get(kTenant, info->id)), "a cat");
}

TEST_F(UploadStoreTest, IdsAreLongRandomAndMarked) {
  UploadStore store({}, clock_);
  std::set<std::string> ids;
  for (int i = 0; i < 200; ++i) {
    const auto info = store.add(kTenant, file_of("x"));
    ASSERT_TRUE(info);
    EXPECT_TRUE(info->id.starts_with(kIdPrefix));
    EXPECT_EQ(info->id.size(), kIdPrefix.size() + 32);
    EXPECT_EQ(info->id.find_first_not_of("0123456789abcdef", kIdPrefix.size()), std::string::npos);
    ids.insert(info->id);
  }
  EXPECT_EQ(ids.size(), 200U);
}

TEST_F(UploadStoreTest, AnotherTenantsFileIsAsUnknownAsNone) {
  const std::string id = add(kTenant, 5);

  EXPECT_EQ(reason_of(store_.get(kOther, id)), "upload_not_found");
  EXPECT_EQ(reason_of(store_.find(kOther, id)), "upload_not_found");
  EXPECT_EQ(reason_of(store_.remove(kOther, id)), "upload_not_found");
  EXPECT_TRUE(store_.list(kOther).empty());
  EXPECT_EQ(store_.get(kOther, id).error().message, store_.get(kOther, "nonsense").error().message);
  EXPECT_TRUE(store_.get(kTenant, id));
}

TEST_F(UploadStoreTest, AFileExpiresAtItsTimeAndNotBefore) {
  const std::string id = add(kTenant, 5);
  clock_.advance(seconds(99));
  EXPECT_TRUE(store_.get(kTenant, id));
  EXPECT_EQ(store_.find(kTenant, id)->expires_in, seconds(1));

  clock_.advance(seconds(1));
  EXPECT_EQ(reason_of(store_.get(kTenant, id)), "upload_not_found");
  EXPECT_TRUE(store_.list(kTenant).empty());
  EXPECT_EQ(store_.total_bytes(), 0U);
}

TEST_F(UploadStoreTest, AHandedOutFileOutlivesItsExpiry) {
  const std::string id = add(kTenant, 5);
  const auto media = store_.get(kTenant, id);
  clock_.advance(seconds(200));
  EXPECT_EQ(reason_of(store_.get(kTenant, id)), "upload_not_found");
  EXPECT_EQ(bytes_of(*media), "xxxxx");
}

TEST_F(UploadStoreTest, ARemovedFileIsGoneAndGivesItsRoomBack) {
  const std::string first = add(kTenant, 50);
  const std::string second = add(kTenant, 50);
  EXPECT_EQ(add(kTenant, 1), "upload_space_exhausted");

  EXPECT_TRUE(store_.remove(kTenant, first));
  EXPECT_EQ(reason_of(store_.remove(kTenant, first)), "upload_not_found");

  EXPECT_TRUE(add(kTenant, 50).starts_with(kIdPrefix));
  EXPECT_TRUE(store_.get(kTenant, second));
}

TEST_F(UploadStoreTest, BytesAndFilesOfATenantAreBounded) {
  EXPECT_EQ(add(kTenant, 51), "upload_too_large");
  add(kTenant, 1);
  add(kTenant, 1);
  add(kTenant, 1);
  EXPECT_EQ(add(kTenant, 1), "upload_space_exhausted") << "the fourth file";
  EXPECT_TRUE(add(kOther, 50).starts_with(kIdPrefix)) << "others have their own room";
}

TEST_F(UploadStoreTest, BytesAndFilesOfAllTenantsAreBounded) {
  add(kTenant, 50);
  add(kTenant, 50);
  EXPECT_EQ(add(kOther, 50).substr(0, kIdPrefix.size()), kIdPrefix);
  EXPECT_EQ(add(kOther, 1), "upload_space_exhausted");
  EXPECT_EQ(store_.total_bytes(), 150U);
}

TEST_F(UploadStoreTest, WhatExpiredMakesRoom) {
  add(kTenant, 50);
  add(kTenant, 50);
  add(kOther, 50);
  clock_.advance(seconds(100));
  EXPECT_TRUE(add(kOther, 50).starts_with(kIdPrefix));
  EXPECT_EQ(store_.total_bytes(), 50U);
}

TEST_F(UploadStoreTest, ListIsInOrderOfArrival) {
  const std::string first = add(kTenant, 1);
  clock_.advance(seconds(10));
  const std::string second = add(kTenant, 2);
  add(kOther, 3);

  const auto infos = store_.list(kTenant);

  ASSERT_EQ(infos.size(), 2U);
  EXPECT_EQ(infos[0].id, first);
  EXPECT_EQ(infos[0].time_to_live, seconds(100));
  EXPECT_EQ(infos[1].id, second);
}

TEST_F(UploadStoreTest, ACallTakesAwayOnlySoManyExpiredFiles) {
  UploadLimits limits;
  limits.time_to_live = seconds(100);
  UploadStore store(limits, clock_);
  for (std::size_t i = 0; i < kExpiredPerCallMax + 3; ++i) {
    ASSERT_TRUE(store.add(kTenant, file_of("x")));
  }
  clock_.advance(seconds(100));

  EXPECT_TRUE(store.list(kTenant).empty());
  EXPECT_EQ(store.total_bytes(), 3U);
  EXPECT_TRUE(store.list(kTenant).empty());
  EXPECT_EQ(store.total_bytes(), 0U);
}

TEST_F(UploadStoreTest, NoDescriptorIsLeftBehind) {
  const auto before = count_open_fds();
  for (int i = 0; i < 10; ++i) add(TenantId{static_cast<std::uint32_t>(i)}, 50);
  clock_.advance(seconds(100));
  store_.list(kTenant);
  EXPECT_EQ(count_open_fds(), before);
}

}  // namespace
}  // namespace tessera::uploads
