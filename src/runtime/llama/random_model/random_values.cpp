#include "runtime/llama/random_model/random_values.h"

namespace tessera::runtime::llama::random_model {
namespace {

/// SplitMix64's output function: a counter becomes 64 independent bits (Steele et al. 2014).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E37'79B9'7F4A'7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D0'49BB'1331'11EBU;
  return x ^ (x >> 31U);
}

/// Four uniform 16-bit numbers have the variance 4 × (2^16)² / 12.
constexpr float kDeviation = 37837.227F;
constexpr std::int64_t kMean = 4 * 0xFFFF / 2;

}  // namespace

std::uint64_t seed_of(std::string_view name, std::uint64_t seed) {
  std::uint64_t hash = mixed(seed);
  for (const char c : name) hash = mixed(hash ^ static_cast<unsigned char>(c));
  return hash;
}

void fill_random(std::span<float> out, std::uint64_t seed, std::uint64_t first, float scale) {
  const float unit = scale / kDeviation;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t bits = mixed(seed + first + i);
    const auto sum = static_cast<std::int64_t>((bits & 0xFFFFU) + ((bits >> 16U) & 0xFFFFU) +
                                               ((bits >> 32U) & 0xFFFFU) + (bits >> 48U));
    out[i] = static_cast<float>(sum - kMean) * unit;
  }
}

}  // namespace tessera::runtime::llama::random_model
