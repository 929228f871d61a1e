#include "cli/table_text.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(TableText, CountsTakeThePlural) {
  EXPECT_EQ(counted(0, "image"), "0 images");
  EXPECT_EQ(counted(1, "image"), "1 image");
  EXPECT_EQ(counted(2, "image"), "2 images");
}

TEST(TableText, AlignsAndNeverCuts) {
  EXPECT_EQ(right_aligned("ab", 4), "  ab");
  EXPECT_EQ(left_aligned("ab", 4), "ab  ");
  EXPECT_EQ(right_aligned("abcde", 4), "abcde");
  EXPECT_EQ(left_aligned("abcde", 4), "abcde");
}

TEST(TableText, BarsAreDrawnToAnEighthOfAColumn) {
  EXPECT_EQ(bar(0, 4), "");
  EXPECT_EQ(bar(0.0001, 4), "▏");
  EXPECT_EQ(bar(0.5, 4), "██");
  EXPECT_EQ(bar(0.625, 4), "██▌");
  EXPECT_EQ(bar(1, 4), "████");
  EXPECT_EQ(bar(2, 4), "████");
}

TEST(TableText, LargeNumbersTakeThreeDigitsAndAPrefix) {
  EXPECT_EQ(with_prefix(0, "FLOP"), "-");
  EXPECT_EQ(with_prefix(999, "FLOP"), "999 FLOP");
  EXPECT_EQ(with_prefix(999.6, "FLOP"), "1.00 kFLOP");
  EXPECT_EQ(with_prefix(1234, "FLOP"), "1.23 kFLOP");
  EXPECT_EQ(with_prefix(12.34e9, "FLOP"), "12.3 GFLOP");
  EXPECT_EQ(with_prefix(123.4e12, "FLOP"), "123 TFLOP");
  EXPECT_EQ(with_prefix(9.999e9, "FLOP"), "10.0 GFLOP");
}

TEST(TableText, BytesTakeBinaryPrefixes) {
  EXPECT_EQ(bytes_text(0), "-");
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(12.3 * 1024 * 1024), "12.3 MiB");
}

TEST(TableText, RulesAreAsWideAsAsked) {
  EXPECT_EQ(rule(3), "───");
}

}  // namespace
}  // namespace tessera::cli
