#include "runtime/fake/fake_sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/fake/fake_transcript.h"

namespace tessera::runtime::fake {
namespace {

constexpr std::string_view kJsonAnswer = "{}";

/// Token ids, best first; equal scores in order of their ids.
std::vector<TokenId> ranked(std::span<const float> logits) {
  std::vector<TokenId> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::sort(ids.begin(), ids.end(), [&](TokenId a, TokenId b) {
    const float score_a = logits[static_cast<std::size_t>(a)];
    const float score_b = logits[static_cast<std::size_t>(b)];
    return score_a != score_b ? score_a > score_b : a < b;
  });
  return ids;
}

}  // namespace

FakeSampler::FakeSampler(SamplerOptions options, std::shared_ptr<FakeControl> control)
    : options_(std::move(options)),
      control_(std::move(control)),
      random_(options_.sampling.seed.value_or(0)) {}

Result<SampledToken> FakeSampler::sample(std::span<const float> logits) {
  TSR_RETURN_IF_ERROR(control_->check(Call::kSample, "sampler_failed", "the sampler failed"));
  if (logits.size() != static_cast<std::size_t>(kVocabularySize)) {
    control_->violation("sample: logits of another size than the vocabulary");
    return make_error(ErrorCode::kInternal, "sampler_failed", "the sampler failed");
  }
  SampledToken sampled;
  sampled.token = choose(logits);
  sampled.ends_generation = sampled.token == kEndToken;
  if (options_.logprobs) add_logprobs(logits, sampled);
  ++n_sampled_;
  return sampled;
}

TokenId FakeSampler::choose(std::span<const float> logits) {
  if (options_.format.kind != ResponseFormat::Kind::kText) {
    return n_sampled_ < kJsonAnswer.size() ? TokenId{kJsonAnswer[n_sampled_]} : kEndToken;
  }
  std::vector<TokenId> ids = ranked(logits);
  const SamplingOptions& sampling = options_.sampling;
  if (sampling.temperature <= 0.F) return ids.front();
  if (sampling.top_k > 0)
    ids.resize(std::min(ids.size(), static_cast<std::size_t>(sampling.top_k)));

  const double best = logits[static_cast<std::size_t>(ids.front())];
  std::vector<double> weights;
  for (const TokenId id : ids) {
    const double score = logits[static_cast<std::size_t>(id)];
    weights.push_back(std::exp((score - best) / static_cast<double>(sampling.temperature)));
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double kept = 0;
  std::size_t n_kept = 0;
  while (n_kept < weights.size() && kept < static_cast<double>(sampling.top_p) * total) {
    kept += weights[n_kept++];
  }
  weights.resize(std::max<std::size_t>(n_kept, 1));
  std::discrete_distribution<std::size_t> draw(weights.begin(), weights.end());
  return ids[draw(random_)];
}

void FakeSampler::add_logprobs(std::span<const float> logits, SampledToken& sampled) const {
  const double best = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - best);
  const auto logprob = [&](TokenId id) {
    const double score = logits[static_cast<std::size_t>(id)];
    return static_cast<float>(score - best - std::log(sum));
  };
  sampled.logprob = logprob(sampled.token);
  const std::vector<TokenId> ids = ranked(logits);
  for (std::size_t i = 0; i < static_cast<std::size_t>(options_.n_top_logprobs); ++i) {
    const TokenId id = ids[i];
    std::string piece = id < kEndToken ? std::string(1, static_cast<char>(id)) : std::string();
    sampled.top_logprobs.push_back({id, std::move(piece), logprob(id)});
  }
}

}  // namespace tessera::runtime::fake
