// Normally distributed values from a seed: the same on every machine and compiler, which <random>'s
// distributions are not, and fast enough for the weights of a real model's shape.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tessera::runtime::llama::random_model {

/// A seed of its own for each tensor, so that one more tensor in a file changes no other.
std::uint64_t seed_of(std::string_view name, std::uint64_t seed);

/// Writes values [first, first + out.size()) of the seed's sequence, times `scale`. Mean 0 and
/// deviation 1 before that; none is further from 0 than 3.5.
void fill_random(std::span<float> out, std::uint64_t seed, std::uint64_t first, float scale);

}  // namespace tessera::runtime::llama::random_model
