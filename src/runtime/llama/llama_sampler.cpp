#include "runtime/llama/llama_sampler.h"

#include <json-schema-to-grammar.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <random>

#include "runtime/llama/llama_model.h"
#include "runtime/llama/schema_bounds.h"

namespace tessera::runtime::llama {
namespace {

const std::string kAnyObject = R"({"type":"object"})";

Error schema_error() {
  return make_error(ErrorCode::kInvalidArgument, "json_schema_not_supported",
                    "this JSON schema cannot be turned into a grammar", "response_format");
}

/// The grammar of a response format; empty for free text.
Result<std::string> grammar_text(const ResponseFormat& format) {
  if (format.kind == ResponseFormat::Kind::kText) return std::string();
  const bool any_object = format.kind == ResponseFormat::Kind::kJsonObject;
  const std::string& text = any_object ? kAnyObject : format.json_schema;
  TSR_RETURN_IF_ERROR(check_schema_bytes(text.size()));
  try {
    const common_json schema = common_json::parse(text);
    TSR_RETURN_IF_ERROR(check_schema(schema));
    return json_schema_to_grammar(schema);
  } catch (const std::exception&) {
    return schema_error();
  }
}

TokenId argmax(std::span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace

Result<std::unique_ptr<Sampler>> LlamaSampler::make(const LlamaModel& model,
                                                    const SamplerOptions& options) {
  std::unique_ptr<LlamaSampler> self(new LlamaSampler(model, options));
  TSR_ASSIGN_OR_RETURN(const std::string grammar, grammar_text(options.format));
  if (!grammar.empty()) {
    try {
      self->grammar_.reset(llama_sampler_init_grammar(model.vocabulary(), grammar.c_str(), "root"));
    } catch (const std::exception&) {
      return schema_error();
    }
    if (self->grammar_ == nullptr) return schema_error();
  }
  if (options.sampling.temperature > 0.F) self->build_chain();
  return std::unique_ptr<Sampler>(std::move(self));
}

void LlamaSampler::build_chain() {
  const SamplingOptions& sampling = options_.sampling;
  const std::uint64_t seed = sampling.seed ? *sampling.seed : std::random_device{}();
  chain_.reset(llama_sampler_chain_init(llama_sampler_chain_default_params()));
  llama_sampler_chain_add(chain_.get(), llama_sampler_init_temp(sampling.temperature));
  if (sampling.top_k > 0) {
    llama_sampler_chain_add(chain_.get(), llama_sampler_init_top_k(sampling.top_k));
  }
  if (sampling.top_p < 1.F) {
    llama_sampler_chain_add(chain_.get(), llama_sampler_init_top_p(sampling.top_p, 1));
  }
  // libllama takes 32 bits; fold, so that every bit of the client's seed counts.
  const auto folded = static_cast<std::uint32_t>(seed ^ (seed >> 32U));
  llama_sampler_chain_add(chain_.get(), llama_sampler_init_dist(folded));
}

TokenId LlamaSampler::choose(std::span<const float> logits, bool masked) {
  if (chain_ == nullptr && !masked) return argmax(logits);
  candidates_.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    candidates_[i] = {static_cast<llama_token>(i), logits[i], 0.F};
  }
  llama_token_data_array array{candidates_.data(), candidates_.size(), -1, false};
  if (masked) llama_sampler_apply(grammar_.get(), &array);
  if (chain_ == nullptr) {
    return std::max_element(array.data, array.data + array.size,
                            [](const auto& a, const auto& b) { return a.logit < b.logit; })
        ->id;
  }
  llama_sampler_apply(chain_.get(), &array);
  return array.data[array.selected].id;
}

bool LlamaSampler::grammar_allows(TokenId token) {
  llama_token_data one{token, 1.F, 0.F};
  llama_token_data_array array{&one, 1, -1, false};
  llama_sampler_apply(grammar_.get(), &array);
  return std::isfinite(one.logit);
}

Result<SampledToken> LlamaSampler::sample(std::span<const float> logits) {
  SampledToken sampled;
  try {
    sampled.token = choose(logits, false);
    if (grammar_ != nullptr && !grammar_allows(sampled.token)) {
      sampled.token = choose(logits, true);
    }
    if (grammar_ != nullptr) llama_sampler_accept(grammar_.get(), sampled.token);
    if (chain_ != nullptr) llama_sampler_accept(chain_.get(), sampled.token);
  } catch (const std::exception&) {
    // libllama's grammar throws through its C interface when no token fits.
    return make_error(ErrorCode::kInternal, "sampler_failed",
                      "the answer cannot be continued in the requested format");
  }
  sampled.ends_generation = llama_vocab_is_eog(model_.vocabulary(), sampled.token);
  if (options_.logprobs) add_logprobs(logits, sampled);
  return sampled;
}

void LlamaSampler::add_logprobs(std::span<const float> logits, SampledToken& sampled) const {
  const float highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - highest));
  const double log_total = static_cast<double>(highest) + std::log(sum);
  const auto logprob = [&](TokenId token) {
    return static_cast<float>(static_cast<double>(logits[static_cast<std::size_t>(token)]) -
                              log_total);
  };
  sampled.logprob = logprob(sampled.token);

  const auto n = std::min(static_cast<std::size_t>(options_.n_top_logprobs), logits.size());
  std::vector<TokenId> order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<TokenId>(i);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
                    [&](TokenId a, TokenId b) {
                      return logits[static_cast<std::size_t>(a)] >
                             logits[static_cast<std::size_t>(b)];
                    });
  for (std::size_t i = 0; i < n; ++i) {
    sampled.top_logprobs.push_back({order[i], model_.piece(order[i]), logprob(order[i])});
  }
}

}  // namespace tessera::runtime::llama
