#include "runtime/llama/random_model/random_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera::runtime::llama::random_model {
namespace {

TEST(RandomValues, AreNormalToTheFirstMoments) {
  std::vector<float> values(100'000);
  fill_random(values, seed_of("a", 1), 0, 1.0F);

  double sum = 0;
  double squares = 0;
  for (const float value : values) {
    sum += value;
    squares += double{value} * value;
  }
  EXPECT_NEAR(sum / 100'000, 0.0, 0.02);
  EXPECT_NEAR(squares / 100'000, 1.0, 0.02);
  EXPECT_LT(*std::ranges::max_element(values), 3.5F);
  EXPECT_GT(*std::ranges::min_element(values), -3.5F);
}

TEST(RandomValues, AreTheSameWhereverTheSequenceIsCut) {
  std::vector<float> whole(64);
  fill_random(whole, 7, 0, 0.5F);
  std::vector<float> tail(24);
  fill_random(tail, 7, 40, 0.5F);

  EXPECT_TRUE(std::ranges::equal(tail, std::span(whole).subspan(40)));
}

TEST(RandomValues, DifferByNameAndSeed) {
  EXPECT_NE(seed_of("a", 1), seed_of("b", 1));
  EXPECT_NE(seed_of("a", 1), seed_of("a", 2));
  EXPECT_NE(seed_of("ab", 1), seed_of("ba", 1));
}

}  // namespace
}  // namespace tessera::runtime::llama::random_model
