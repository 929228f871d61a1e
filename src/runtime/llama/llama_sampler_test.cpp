#include "runtime/llama/llama_sampler.h"

#include <gtest/gtest.h>
#include <json.h>

#include <cmath>
#include <random>

#include "runtime/llama/bundled_model.h"

namespace tessera::runtime::llama {
namespace {

std::unique_ptr<LlamaSampler> make(const SamplerOptions& options) {
  auto sampler = bundled_model().make_sampler(options);
  if (sampler) {
    return std::unique_ptr<LlamaSampler>(static_cast<LlamaSampler*>(sampler->release()));
  }
  ADD_FAILURE() << sampler.error().message;
  return nullptr;
}

SamplerOptions greedy() {
  SamplerOptions options;
  options.sampling.temperature = 0.F;
  return options;
}

SamplerOptions with_schema(std::string schema) {
  SamplerOptions options = greedy();
  options.format = {ResponseFormat::Kind::kJsonSchema, std::move(schema)};
  return options;
}

std::vector<float> random_logits(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution(0.F, 3.F);
  std::vector<float> logits(static_cast<std::size_t>(bundled_model().info().n_vocabulary));
  for (float& logit : logits) logit = distribution(random);
  return logits;
}

std::vector<TokenId> sample_many(const SamplerOptions& options, int n) {
  const auto sampler = make(options);
  std::vector<TokenId> tokens;
  for (int i = 0; i < n; ++i) {
    tokens.push_back(sampler->sample(random_logits(static_cast<unsigned>(i)))->token);
  }
  return tokens;
}

/// Text that `options` allow when the scores are noise; stops at the end of the grammar.
std::string babble(const SamplerOptions& options, unsigned seed, int n_tokens_max) {
  const auto sampler = make(options);
  std::string text;
  for (int i = 0; i < n_tokens_max; ++i) {
    const auto sampled = sampler->sample(random_logits(seed * 1000 + static_cast<unsigned>(i)));
    if (!sampled) {
      ADD_FAILURE() << sampled.error().message << " after " << text;
      break;
    }
    if (sampled->ends_generation) return text;
    text += bundled_model().piece(sampled->token);
  }
  ADD_FAILURE() << "no end after " << text;
  return text;
}

// --- choosing -----------------------------------------------------------------------------------

TEST(LlamaSampler, TakesTheFirstOfTheHighestScoresWhenGreedy) {
  std::vector<float> logits(422, 0.F);
  logits[7] = logits[9] = 5.F;

  EXPECT_EQ(make(greedy())->sample(logits)->token, 7);
}

TEST(LlamaSampler, IsGreedyWithOneCandidate) {
  SamplerOptions options;
  options.sampling.top_k = 1;

  EXPECT_EQ(sample_many(options, 50), sample_many(greedy(), 50));
}

TEST(LlamaSampler, RepeatsItselfUnderOneSeed) {
  SamplerOptions options;
  options.sampling.seed = 42;
  const auto first = sample_many(options, 100);

  EXPECT_EQ(sample_many(options, 100), first);
  EXPECT_NE(first, sample_many(greedy(), 100));
  options.sampling.seed = 43;
  EXPECT_NE(sample_many(options, 100), first);
}

TEST(LlamaSampler, UsesEveryBitOfTheSeed) {
  SamplerOptions options;
  options.sampling.seed = 42;
  const auto first = sample_many(options, 100);

  options.sampling.seed = 42 | (std::uint64_t{1} << 63U);

  EXPECT_NE(sample_many(options, 100), first);
}

TEST(LlamaSampler, StaysWithinTheNucleus) {
  // 0.6 + 0.3 + 0.1: the nucleus of 0.85 is the first two.
  std::vector<float> logits(422, -1000.F);
  logits[10] = std::log(0.6F);
  logits[11] = std::log(0.3F);
  logits[12] = std::log(0.1F);
  SamplerOptions options;
  options.sampling.top_p = 0.85F;
  options.sampling.seed = 1;
  const auto sampler = make(options);

  std::vector<int> counts(3);
  for (int i = 0; i < 300; ++i) {
    ++counts.at(static_cast<std::size_t>(sampler->sample(logits)->token - 10));
  }

  EXPECT_GT(counts[0], counts[1]);
  EXPECT_GT(counts[1], 0);
  EXPECT_EQ(counts[2], 0);
}

TEST(LlamaSampler, SaysWhenTheAnswerEnds) {
  std::vector<float> logits(422, 0.F);
  const TokenId end = llama_vocab_eos(bundled_model().vocabulary());
  logits[static_cast<std::size_t>(end)] = 9.F;
  EXPECT_TRUE(make(greedy())->sample(logits)->ends_generation);

  logits[10] = 10.F;
  EXPECT_FALSE(make(greedy())->sample(logits)->ends_generation);
}

// --- logprobs -----------------------------------------------------------------------------------

TEST(LlamaSampler, GivesLogprobsOfTheWholeDistributionBestFirst) {
  SamplerOptions options = greedy();
  options.logprobs = true;
  options.n_top_logprobs = 20;

  const auto sampled = make(options)->sample(random_logits(1));

  ASSERT_EQ(sampled->top_logprobs.size(), 20U);
  double sum = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    const TokenLogprob& top = sampled->top_logprobs[i];
    if (i > 0) EXPECT_LE(top.logprob, sampled->top_logprobs[i - 1].logprob);
    EXPECT_EQ(top.piece, bundled_model().piece(top.token));
    sum += std::exp(static_cast<double>(top.logprob));
  }
  EXPECT_LE(sum, 1.0);
  EXPECT_GT(sum, 0.5);
  EXPECT_EQ(sampled->top_logprobs[0].token, sampled->token);
  EXPECT_EQ(sampled->logprob, sampled->top_logprobs[0].logprob);
}

TEST(LlamaSampler, GivesLogprobsAtTemperatureOneWhateverTheTemperature) {
  const auto logits = random_logits(3);
  SamplerOptions options;
  options.sampling.temperature = 0.01F;
  options.sampling.seed = 1;
  options.logprobs = true;
  const auto cold = make(options)->sample(logits);

  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  const auto expected =
      std::exp(static_cast<double>(logits[static_cast<std::size_t>(cold->token)]));
  EXPECT_NEAR(std::exp(static_cast<double>(*cold->logprob)), expected / sum, 1e-5);
}

TEST(LlamaSampler, GivesNoLogprobsUnasked) {
  const auto sampled = make(greedy())->sample(random_logits(1));

  EXPECT_FALSE(sampled->logprob.has_value());
  EXPECT_TRUE(sampled->top_logprobs.empty());
}

TEST(LlamaSampler, GivesNoMoreLogprobsThanThereAreTokens) {
  SamplerOptions options = greedy();
  options.logprobs = true;
  options.n_top_logprobs = 1000;

  EXPECT_EQ(make(options)->sample(random_logits(1))->top_logprobs.size(), 422U);
}

// --- grammars -----------------------------------------------------------------------------------

constexpr const char* kShapeSchema = R"({
  "type": "object", "additionalProperties": false, "required": ["count", "colour", "round"],
  "properties": {
    "count": {"type": "integer", "minimum": 0, "maximum": 99},
    "colour": {"enum": ["red", "green"]},
    "round": {"type": "boolean"}
  }
})";

TEST(LlamaSampler, ObeysAJsonSchemaWhateverTheScores) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::string text = babble(with_schema(kShapeSchema), seed, 400);

    const common_json json = common_json::parse(text);
    EXPECT_EQ(json.size(), 3U) << text;
    EXPECT_TRUE(json.at("count").is_number_integer()) << text;
    EXPECT_LE(json.at("count").get<int>(), 99) << text;
    const auto colour = json.at("colour").get<std::string>();
    EXPECT_TRUE(colour == "red" || colour == "green") << text;
    EXPECT_TRUE(json.at("round").is_boolean()) << text;
  }
}

TEST(LlamaSampler, ObeysAJsonSchemaWhenNotGreedy) {
  SamplerOptions options = with_schema(kShapeSchema);
  options.sampling = {1.5F, 0.9F, 40, 7};

  EXPECT_TRUE(common_json::parse(babble(options, 3, 400)).is_object());
}

TEST(LlamaSampler, ObeysJsonObject) {
  // Scores that like to close what is open, because noise rarely ends a free object.
  SamplerOptions options = greedy();
  options.format.kind = ResponseFormat::Kind::kJsonObject;
  const auto sampler = make(options);
  std::string text;
  for (int i = 0; i < 200; ++i) {
    std::vector<float> logits = random_logits(static_cast<unsigned>(i));
    for (TokenId token = 0; token < 422; ++token) {
      const std::string piece = bundled_model().piece(token);
      if (piece == "}" || piece == "]" || piece == "\"") {
        logits[static_cast<std::size_t>(token)] += 10.F;
      }
    }
    const auto sampled = sampler->sample(logits);
    ASSERT_TRUE(sampled);
    if (sampled->ends_generation) break;
    text += bundled_model().piece(sampled->token);
  }

  EXPECT_TRUE(common_json::parse(text).is_object()) << text;
}

TEST(LlamaSampler, EndsWhenTheGrammarDoes) {
  EXPECT_EQ(babble(with_schema(R"({"const": 7})"), 1, 8), "7");
}

class UnsupportedSchema : public testing::TestWithParam<const char*> {};

TEST_P(UnsupportedSchema, IsAnError) {
  const auto sampler = bundled_model().make_sampler(with_schema(GetParam()));

  ASSERT_FALSE(sampler);
  EXPECT_EQ(sampler.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(sampler.error().reason, "json_schema_not_supported");
  EXPECT_EQ(sampler.error().param, "response_format");
}

INSTANTIATE_TEST_SUITE_P(
    All, UnsupportedSchema,
    testing::Values("", "not json", "{", R"({"type": "no such type"})", R"({"$ref": "#/nowhere"})",
                    R"({"$ref": "https://127.0.0.1/schema.json"})",
                    R"({"type": "string", "pattern": "^(a$"})",
                    R"({"type": "array", "items": {"type": "string"}, "minItems": 100000000})",
                    R"({"type": "string", "minLength": 100000000})",
                    R"({"type": "string", "minLength": "three"})", R"({"properties": 3})",
                    R"(true)", R"([])", R"(3)", R"("text")"));

TEST(LlamaSampler, NeverGoesBeyondTheEndOfAGrammar) {
  const auto sampler = make(with_schema(R"({"const": 7})"));
  ASSERT_TRUE(sampler->sample(random_logits(1)));
  ASSERT_TRUE(sampler->sample(random_logits(1)));  // the end

  const auto beyond = sampler->sample(random_logits(1));

  if (beyond) {
    EXPECT_TRUE(beyond->ends_generation);
  } else {
    EXPECT_EQ(beyond.error().reason, "sampler_failed");
  }
}

}  // namespace
}  // namespace tessera::runtime::llama
