#include "cache/secret_key.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace tessera::cache {
namespace {

constexpr SecretKey::Bytes kBytes{1, 2, 3};

TEST(SecretKey, DerivesTheSameFromTheSame) {
  const std::vector<std::uint8_t> input{4, 5};

  EXPECT_EQ(SecretKey(kBytes).derive("a", input).bytes(),
            SecretKey(kBytes).derive("a", input).bytes());
  EXPECT_EQ(SecretKey(kBytes).name("a", input), SecretKey(kBytes).name("a", input));
}

TEST(SecretKey, IsHmacSha256OfLabelZeroAndInput) {
  // python3: hmac.new(bytes([1,2,3]+[0]*29), b"a\0\x04\x05", "sha256").hexdigest()
  const Digest name = SecretKey(kBytes).name("a", std::vector<std::uint8_t>{4, 5});

  EXPECT_EQ(name.bytes[0], 0x45);
  EXPECT_EQ(name.bytes[31], 0xa1);
}

TEST(SecretKey, DiffersByEverythingThatGoesIn) {
  const std::vector<std::uint8_t> input{4, 5};
  const SecretKey key(kBytes);
  std::set<SecretKey::Bytes> all;

  EXPECT_TRUE(all.insert(key.derive("a", input).bytes()).second);
  EXPECT_TRUE(all.insert(key.derive("b", input).bytes()).second);
  EXPECT_TRUE(all.insert(key.derive("a", {}).bytes()).second);
  EXPECT_TRUE(all.insert(key.derive("a", std::vector<std::uint8_t>{4, 6}).bytes()).second);
  EXPECT_TRUE(all.insert(key.derive("a\x04", std::vector<std::uint8_t>{5}).bytes()).second);
  EXPECT_TRUE(all.insert(SecretKey({9}).derive("a", input).bytes()).second);
  EXPECT_TRUE(all.insert(SecretKey::random().bytes()).second);
  EXPECT_TRUE(all.insert(SecretKey::random().bytes()).second);
}

TEST(SecretKey, IsMadeFromEveryByteOfItsMaterial) {
  std::vector<std::uint8_t> material(100, 7);
  const SecretKey first = SecretKey::extract(material);
  material.back() ^= 1;

  EXPECT_NE(SecretKey::extract(material).bytes(), first.bytes());
}

}  // namespace
}  // namespace tessera::cache
