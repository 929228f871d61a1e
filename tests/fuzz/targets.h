// What is fuzzed: one function for each parser of untrusted bytes. The same functions run under
// libFuzzer (fuzz_main.cpp) and as ordinary tests over the kept corpus (replay_test.cpp).
//
// A target aborts when a promise is broken, and a sanitizer aborts for it otherwise.
// @thread any; no shared state
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "media/testing/encode_images.h"

namespace tessera::fuzz {

using Bytes = std::span<const std::uint8_t>;

struct Target {
  std::string_view name;
  /// @return false for input that says nothing about this target and need not be kept
  bool (*run)(Bytes input);
  /// Sound inputs to start from, made by the generators.
  std::vector<media::testing::ByteVector> (*seeds)();
};

std::span<const Target> targets();

/// Null when there is none of that name.
const Target* find_target(std::string_view name);

}  // namespace tessera::fuzz
