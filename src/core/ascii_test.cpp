#include "core/ascii.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Ascii, LowersLettersAndNothingElse) {
  EXPECT_EQ(ascii_lower("AZaz@[`{09\xC3\x84"), "azaz@[`{09\xC3\x84");
}

TEST(Ascii, ComparesWithoutCase) {
  EXPECT_TRUE(equals_ignoring_case("Chunked", "cHUNKED"));
  EXPECT_FALSE(equals_ignoring_case("chunked", "chunke"));
  EXPECT_FALSE(equals_ignoring_case("@", "`"));
}

TEST(Ascii, FindsAPrefixOfTheWholeLengthOnly) {
  EXPECT_TRUE(starts_with_ignoring_case("HTTPS://x", "https:"));
  EXPECT_FALSE(starts_with_ignoring_case("http", "http:"));
  EXPECT_TRUE(starts_with_ignoring_case("", ""));
}

}  // namespace
}  // namespace tessera
