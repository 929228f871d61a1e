// The fake's sampler: greedy at temperature 0, else top-k, top-p and a seeded draw. With a JSON
// response format it writes {}.
#pragma once

#include <cstddef>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "runtime/fake/fake_control.h"
#include "runtime/runtime.h"

namespace tessera::runtime::fake {

/// @thread engine thread only
class FakeSampler final : public Sampler {
 public:
  FakeSampler(SamplerOptions options, std::shared_ptr<FakeControl> control);

  /// @errors  internal, when the plan says so
  Result<SampledToken> sample(std::span<const float> logits);

 private:
  TokenId choose(std::span<const float> logits);
  void add_logprobs(std::span<const float> logits, SampledToken& sampled) const;

  const SamplerOptions options_;
  const std::shared_ptr<FakeControl> control_;
  std::mt19937_64 random_;
  std::size_t n_sampled_ = 0;
};

}  // namespace tessera::runtime::fake
