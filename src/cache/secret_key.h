// A secret of 32 bytes, and what is derived from it: HMAC-SHA-256 of a label and an input, which
// is HKDF's expansion (RFC 5869) for outputs of this size. The label says what the result is for,
// so that no two uses share a value. Overwritten when it goes.
// @thread any; immutable
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/digest.h"

namespace tessera::cache {

class SecretKey {
 public:
  using Bytes = std::array<std::uint8_t, 32>;

  explicit SecretKey(const Bytes& bytes) : bytes_(bytes) {}
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  ~SecretKey();

  /// From any bytes that hold enough that nobody knows: HKDF's extraction.
  static SecretKey extract(std::span<const std::uint8_t> material);

  static SecretKey random();

  /// Another secret.
  SecretKey derive(std::string_view label, std::span<const std::uint8_t> input = {}) const;

  /// A value that may be seen, and made by nobody who has not the secret.
  Digest name(std::string_view label, std::span<const std::uint8_t> input) const;

  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_{};
};

}  // namespace tessera::cache
