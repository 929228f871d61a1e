#include "runtime/llama/random_model/vocabulary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tessera::runtime::llama::random_model {
namespace {

TEST(Vocabulary, HasExactlyTheSizeThatIsAskedForAndEachTokenOnce) {
  const auto specials = all_special_tokens();
  const Vocabulary vocabulary = make_vocabulary(20'000, specials);

  EXPECT_EQ(vocabulary.tokens.size(), 20'000U);
  EXPECT_EQ(std::set(vocabulary.tokens.begin(), vocabulary.tokens.end()).size(), 20'000U);
  EXPECT_EQ(vocabulary.tokens.back(), specials.back());
  EXPECT_EQ(vocabulary.first_word + vocabulary.n_words,
            static_cast<std::int64_t>(20'000 - specials.size()));
}

TEST(Vocabulary, MakesEveryWordFromOneBeforeItAndALetter) {
  const Vocabulary vocabulary = make_vocabulary(1500, {});

  std::set<std::string> known(vocabulary.tokens.begin(), vocabulary.tokens.begin() + 256);
  ASSERT_EQ(vocabulary.merges.size() + 256, vocabulary.tokens.size());
  for (std::size_t i = 0; i < vocabulary.merges.size(); ++i) {
    const std::string& merge = vocabulary.merges[i];
    const std::size_t space = merge.find(' ');
    const std::string left = merge.substr(0, space);
    const std::string right = merge.substr(space + 1);
    EXPECT_TRUE(known.contains(left)) << merge;
    EXPECT_EQ(left + right, vocabulary.tokens[256 + i]);
    known.insert(left + right);
  }
}

TEST(Vocabulary, CallsNeitherBytesNorSpecialTokensWords) {
  const Vocabulary vocabulary = make_vocabulary(1000, all_special_tokens());

  EXPECT_FALSE(vocabulary.is_word(256));
  EXPECT_TRUE(vocabulary.is_word(257));
  EXPECT_FALSE(vocabulary.is_word(999));
}

}  // namespace
}  // namespace tessera::runtime::llama::random_model
