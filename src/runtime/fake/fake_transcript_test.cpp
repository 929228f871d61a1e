#include "runtime/fake/fake_transcript.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace tessera::runtime::fake {
namespace {

TokenId best(const Transcript& transcript) {
  std::vector<float> logits(kVocabularySize);
  transcript.write_logits(logits);
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

Transcript asked(std::string_view question, Position& position) {
  Transcript transcript;
  transcript.take_token(kUserToken, position++);
  for (const char c : question) transcript.take_token(c, position++);
  transcript.take_token(kAssistantToken, position++);
  return transcript;
}

std::string answer(std::string_view question) {
  Position position = 0;
  Transcript transcript = asked(question, position);
  std::string text;
  for (TokenId token = best(transcript); token != kEndToken; token = best(transcript)) {
    text += static_cast<char>(token);
    transcript.take_token(token, position++);
  }
  return text;
}

TEST(Transcript, SaysTheScriptedWordsOfTheLine) {
  EXPECT_EQ(answer("please say:two words\nand nothing else"), "two words");
}

TEST(Transcript, CountsTokens) {
  EXPECT_EQ(answer("count:30"), "abcdefghijklmnopqrstuvwxyzabcd");
  EXPECT_EQ(answer("count:0"), "");
}

TEST(Transcript, AnswersAShortWordThatDependsOnTheQuestion) {
  const std::string one = answer("what is this?");
  const std::string other = answer("what is that?");

  EXPECT_GE(one.size(), 3U);
  EXPECT_LE(one.size(), 7U);
  EXPECT_NE(one, other);
  EXPECT_EQ(one, answer("what is this?"));
}

TEST(Transcript, ScoresDependOnRowsAndPositions) {
  const std::vector<float> row = {0.25F, 0.5F};
  const std::vector<float> other_row = {0.25F, 0.75F};
  const auto scores = [](const std::vector<float>& values, VisualPosition position) {
    Transcript transcript;
    transcript.take_row(values, position);
    std::vector<float> logits(kVocabularySize);
    transcript.write_logits(logits);
    return logits;
  };

  EXPECT_EQ(scores(row, {1, 2, 3, 0}), scores(row, {1, 2, 3, 0}));
  EXPECT_NE(scores(row, {1, 2, 3, 0}), scores(row, {1, 3, 2, 0}));
  EXPECT_NE(scores(row, {1, 2, 3, 0}), scores(other_row, {1, 2, 3, 0}));
}

}  // namespace
}  // namespace tessera::runtime::fake
