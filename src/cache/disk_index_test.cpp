#include "cache/disk_index.h"

#include <gtest/gtest.h>

#include "cache/test_folder.h"

namespace tessera::cache {
namespace {

constexpr TenantFolder kAnna{1};
constexpr TenantFolder kBen{2};
constexpr std::size_t kBlock = 4096 + 512;  // disk_bytes(1)

EntryPlace place(int i, const TenantFolder& folder = kAnna, std::int64_t expires = 0) {
  return {folder, test_key(i), expires};
}

std::vector<EntryPlace> places(std::initializer_list<int> numbers) {
  std::vector<EntryPlace> all;
  for (const int i : numbers) all.push_back(place(i));
  return all;
}

TEST(DiskIndex, PathsAreReadAsTheyAreWritten) {
  for (const std::int64_t expires : {std::int64_t{0}, std::int64_t{1'900'000'000}, INT64_MAX}) {
    const EntryPlace written = place(7, kBen, expires);
    const std::string path = written.path();
    const std::size_t slash = path.find('/');

    const auto folder = parse_folder(path.substr(0, slash));
    ASSERT_TRUE(folder);
    EXPECT_EQ(*folder, kBen);
    EXPECT_EQ(parse_entry(*folder, path.substr(slash + 1)), written);
  }
}

TEST(DiskIndex, OtherNamesAreNoneOfOurs) {
  const std::string path = place(7, kBen, 255).path();
  const std::string name = path.substr(path.find('/') + 1);
  ASSERT_TRUE(parse_entry(kBen, name));

  for (const std::string& other :
       {std::string(), std::string("salt"), name + "0x", name + " ", "." + name, name.substr(1),
        name.substr(0, 64), name.substr(0, 65), name.substr(0, 65) + "-1",
        name.substr(0, 65) + "0ff", name.substr(0, 65) + "FF", name.substr(0, 65) + "+1",
        name.substr(0, 65) + "ffffffffffffffffff", std::string(64, 'g') + ".0"}) {
    EXPECT_FALSE(parse_entry(kBen, other)) << other;
  }
  for (const std::string& other :
       {std::string(), std::string("t-"), std::string("t-00"), "T-" + std::string(32, '0'),
        "t-" + std::string(32, 'x'), "t-" + std::string(33, '0'), std::string("..")}) {
    EXPECT_FALSE(parse_folder(other)) << other;
  }
}

TEST(DiskIndex, WhatWasUsedLongestAgoGoesFirst) {
  DiskIndex index(3 * kBlock);
  for (const int i : {1, 2, 3}) index.insert(place(i), 1, 0);
  EXPECT_NE(index.use(test_key(1), 0), nullptr);

  EXPECT_EQ(index.make_room(1, 0), places({2}));
  index.insert(place(4), 1, 0);
  EXPECT_EQ(index.make_room(kBlock, 0), places({3, 1}));
  EXPECT_EQ(index.n_bytes(), kBlock);
}

TEST(DiskIndex, CountsWholeBlocks) {
  DiskIndex index(10 * kBlock);
  index.insert(place(1), 1, 0);
  index.insert(place(2), 4097, 0);
  index.insert(place(2), 4097, 0);  // is there already

  EXPECT_EQ(index.n_bytes(), kBlock + kBlock + 4096);
  EXPECT_EQ(index.size(), 2U);
}

TEST(DiskIndex, WhatIsLargerThanTheBudgetDrivesNothingOut) {
  DiskIndex index(2 * kBlock);
  index.insert(place(1), 1, 0);

  EXPECT_FALSE(index.make_room(3 * kBlock, 0));
  EXPECT_EQ(index.size(), 1U);
}

TEST(DiskIndex, TheNumberOfEntriesIsBounded) {
  DiskIndex index(1'000'000'000, 2);
  for (const int i : {1, 2}) index.insert(place(i), 1, 0);

  EXPECT_EQ(index.make_room(1, 0), places({1}));
}

TEST(DiskIndex, TakesOutWhatExpired) {
  DiskIndex index(10 * kBlock);
  index.insert(place(1), 1, 0);
  index.insert(place(2, kAnna, 100), 1, 0);
  index.insert(place(3, kAnna, 200), 1, 0);

  EXPECT_TRUE(index.take_expired(99).empty());
  EXPECT_EQ(index.take_expired(100), std::vector{place(2, kAnna, 100)});
  EXPECT_EQ(index.take_expired(1000), std::vector{place(3, kAnna, 200)});
  EXPECT_NE(index.find(test_key(1)), nullptr);
}

TEST(DiskIndex, TakesOutATenantAndNoOther) {
  DiskIndex index(10 * kBlock);
  index.insert(place(1), 1, 0);
  index.insert(place(2, kBen, 50), 1, 0);
  index.insert(place(3), 1, 0);

  EXPECT_EQ(index.take_tenant(kAnna), places({1, 3}));
  EXPECT_EQ(index.size(), 1U);
  EXPECT_EQ(index.n_bytes(), kBlock);
}

TEST(DiskIndex, ErasesThisEntryAndNotAnotherOfItsName) {
  DiskIndex index(10 * kBlock);
  index.insert(place(1, kAnna, 100), 1, 0);

  EXPECT_FALSE(index.erase(place(1, kAnna, 200)));
  EXPECT_FALSE(index.erase(place(2)));
  EXPECT_TRUE(index.erase(place(1, kAnna, 100)));
  EXPECT_EQ(index.n_bytes(), 0U);
  EXPECT_TRUE(index.take_expired(1000).empty());
}

TEST(DiskIndex, AgesAreTimesSinceTheLastUse) {
  DiskIndex index(2 * kBlock);
  EXPECT_EQ(index.oldest_use(), std::nullopt);
  index.insert(place(1), 1, 100);
  index.insert(place(2, kBen), 1, 110);
  EXPECT_EQ(index.oldest_use(), 100);
  EXPECT_NE(index.use(test_key(1), 130), nullptr);
  EXPECT_EQ(index.oldest_use(), 110);

  const auto all = index.by_tenant(140);
  EXPECT_EQ(all.at(kAnna).oldest_use, std::chrono::seconds(10));
  EXPECT_EQ(all.at(kBen).last_use, std::chrono::seconds(30));
  EXPECT_EQ(all.at(kBen).n_bytes, kBlock);
  EXPECT_EQ(all.at(kBen).n_entries, 1U);

  EXPECT_EQ(index.make_room(1, 150), std::vector{place(2, kBen)});
  EXPECT_EQ(index.evicted_seconds(), 40);
  EXPECT_EQ(index.make_room(1, 120), std::vector<EntryPlace>{});
  EXPECT_EQ(index.make_room(2 * kBlock - 512, 120), std::nullopt);
}

}  // namespace
}  // namespace tessera::cache
