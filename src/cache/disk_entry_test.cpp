#include "cache/disk_entry.h"

#include <gtest/gtest.h>

#include <set>

#include "cache/test_folder.h"

namespace tessera::cache {
namespace {

using std::chrono::milliseconds;

const SecretKey kTenant({1, 2, 3});

std::vector<std::uint8_t> sealed(bool as_halves = true) {
  return seal_entry(kTenant, test_key(1), test_rows(1), as_halves, milliseconds(250),
                    1'900'000'000);
}

bool opens(std::vector<std::uint8_t> bytes) {
  return open_entry(kTenant, test_key(1), bytes).has_value();
}

TEST(DiskEntry, ComesBackAsItWas) {
  for (const bool as_halves : {true, false}) {
    std::vector<std::uint8_t> bytes = sealed(as_halves);
    EXPECT_EQ(bytes.size(), sealed_bytes(test_rows(1), as_halves));
    EXPECT_EQ(bytes.size(), kEntryFrameBytes + std::size_t{256} * (as_halves ? 2 : 4));

    const auto entry = open_entry(kTenant, test_key(1), bytes);

    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->embedding.rows, test_rows(1).rows);
    EXPECT_EQ(entry->embedding.n_tokens, 8);
    EXPECT_EQ(entry->embedding.row_width, 32);
    EXPECT_EQ(entry->cost, milliseconds(250));
    EXPECT_EQ(entry->expires, 1'900'000'000);
  }
}

TEST(DiskEntry, ValuesThatNoHalfHoldsAreKeptAsFloats) {
  Embedding embedding = test_rows(1);
  embedding.rows[3] = 0.1F;
  embedding.rows[4] = 1e20F;
  auto bytes = seal_entry(kTenant, test_key(1), embedding, false, {}, 0);

  EXPECT_EQ(open_entry(kTenant, test_key(1), bytes)->embedding.rows, embedding.rows);
}

TEST(DiskEntry, OpensForNobodyElseAndUnderNoOtherName) {
  auto bytes = sealed();
  auto again = bytes;

  EXPECT_FALSE(open_entry(SecretKey({1, 2, 4}), test_key(1), bytes));
  EXPECT_FALSE(open_entry(kTenant, test_key(2), again));
}

TEST(DiskEntry, DoesNotOpenWhenCutAnywhere) {
  const auto whole = sealed();
  for (std::size_t n_bytes = 0; n_bytes < whole.size(); ++n_bytes) {
    ASSERT_FALSE(opens({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n_bytes)}))
        << n_bytes;
  }
  auto longer = whole;
  longer.push_back(0);
  EXPECT_FALSE(opens(longer));
}

TEST(DiskEntry, DoesNotOpenWithAnyBitChanged) {
  const auto whole = sealed();
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    auto changed = whole;
    changed[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    ASSERT_FALSE(opens(changed)) << "bit " << bit;
  }
  EXPECT_TRUE(opens(whole));
}

TEST(DiskEntry, ShapesThatSayTooMuchAreRefusedBeforeAnythingIsAllocated) {
  auto bytes = sealed();
  for (const std::size_t at : {12U, 16U}) {
    for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = 0xFF;
  }
  EXPECT_FALSE(opens(bytes));
  EXPECT_FALSE(opens(std::vector<std::uint8_t>(kEntryFrameBytes, 0)));
  EXPECT_FALSE(opens({}));
}

TEST(DiskEntry, TheSameRowsAreNeverTheSameBytes) {
  std::set<std::vector<std::uint8_t>> all;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(all.insert(sealed()).second);
}

TEST(DiskEntry, NothingOfTheRowsIsSeen) {
  Embedding embedding = test_rows(0);
  std::fill(embedding.rows.begin(), embedding.rows.end(), 1.F);  // halves 0x3C00
  const auto bytes = seal_entry(kTenant, test_key(1), embedding, true, {}, 0);
  std::set<int> values;
  for (std::size_t i = 52; i + 16 < bytes.size(); ++i) values.insert(bytes[i]);

  EXPECT_GT(values.size(), 100U) << "512 bytes of noise show some 220 of 256 values";
}

TEST(DiskEntry, WhatWasDecryptedIsOverwrittenWhetherItOpensOrNot) {
  for (const bool changed : {false, true}) {
    auto bytes = sealed();
    if (changed) bytes[100] ^= 1;
    (void)open_entry(kTenant, test_key(1), bytes).has_value();

    EXPECT_EQ(bytes, std::vector<std::uint8_t>(bytes.size(), 0));
  }
}

}  // namespace
}  // namespace tessera::cache
