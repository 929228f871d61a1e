// A cryptographic hash as a value: identity of contents and of what was computed from them.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

namespace tessera {

/// 256 bits, so that two different inputs never have the same one.
struct Digest {
  std::array<std::uint8_t, 32> bytes{};
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

}  // namespace tessera

template <>
struct std::hash<tessera::Digest> {
  std::size_t operator()(const tessera::Digest& digest) const noexcept {
    std::size_t value = 0;  // any part of it is spread evenly
    std::memcpy(&value, digest.bytes.data(), sizeof(value));
    return value;
  }
};
