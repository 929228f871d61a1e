#include "runtime/fake/fake_sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "runtime/fake/fake_transcript.h"

namespace tessera::runtime::fake {
namespace {

std::vector<float> flat_letters() {
  std::vector<float> logits(kVocabularySize, -60.F);
  for (std::size_t letter = 'a'; letter <= 'z'; ++letter) logits[letter] = 1.F;
  return logits;
}

FakeSampler make(SamplerOptions options) {
  return FakeSampler(std::move(options), std::make_shared<FakeControl>());
}

TEST(FakeSampler, TakesTheBestAtTemperatureZero) {
  SamplerOptions options;
  options.sampling.temperature = 0;
  auto logits = flat_letters();
  logits['q'] = 2.F;

  const auto sampled = make(options).sample(logits);

  ASSERT_TRUE(sampled.has_value());
  EXPECT_EQ(sampled->token, 'q');
  EXPECT_FALSE(sampled->ends_generation);
  EXPECT_FALSE(sampled->logprob.has_value());
}

TEST(FakeSampler, DrawsTheSameForTheSameSeedAndOthersForOthers) {
  std::set<std::vector<TokenId>> words;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SamplerOptions options;
    options.sampling.seed = seed;
    FakeSampler one = make(options);
    FakeSampler same = make(options);
    std::vector<TokenId> word;
    for (int i = 0; i < 8; ++i) {
      word.push_back(one.sample(flat_letters())->token);
      EXPECT_EQ(same.sample(flat_letters())->token, word.back());
    }
    words.insert(word);
  }
  EXPECT_EQ(words.size(), 4U);
}

TEST(FakeSampler, KeepsToTopKAndTopP) {
  auto logits = flat_letters();
  logits['x'] = 1.5F;
  SamplerOptions top_k;
  top_k.sampling.top_k = 1;
  SamplerOptions top_p;
  top_p.sampling.top_p = 0.01F;

  EXPECT_EQ(make(top_k).sample(logits)->token, 'x');
  EXPECT_EQ(make(top_p).sample(logits)->token, 'x');
}

TEST(FakeSampler, WritesJsonWhenAsked) {
  SamplerOptions options;
  options.format.kind = ResponseFormat::Kind::kJsonObject;
  FakeSampler sampler = make(options);

  EXPECT_EQ(sampler.sample(flat_letters())->token, '{');
  EXPECT_EQ(sampler.sample(flat_letters())->token, '}');
  EXPECT_TRUE(sampler.sample(flat_letters())->ends_generation);
}

TEST(FakeSampler, ReportsLogprobsOfTheFullDistribution) {
  SamplerOptions options;
  options.sampling.temperature = 0;
  options.logprobs = true;
  options.n_top_logprobs = 3;

  const auto sampled = make(options).sample(flat_letters());

  ASSERT_TRUE(sampled->logprob.has_value());
  EXPECT_NEAR(*sampled->logprob, -std::log(26.F), 1e-4F);
  ASSERT_EQ(sampled->top_logprobs.size(), 3U);
  EXPECT_EQ(sampled->top_logprobs[0].piece, "a");
  EXPECT_GE(sampled->top_logprobs[0].logprob, sampled->top_logprobs[2].logprob);
}

TEST(FakeSampler, FailsWhenTold) {
  auto control = std::make_shared<FakeControl>();
  control->fail(Call::kSample, 1, Effect::kError);

  EXPECT_EQ(FakeSampler({}, control).sample(flat_letters()).error().code, ErrorCode::kInternal);
  EXPECT_EQ(control->n_violations(), 0);
}

}  // namespace
}  // namespace tessera::runtime::fake
