#include "cache/secret_key.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstring>
#include <vector>

#include "core/check.h"

namespace tessera::cache {
namespace {

/// The salt of extraction. Anything that is always the same will do.
constexpr std::string_view kExtractSalt = "tessera secret 1";

SecretKey::Bytes hmac(std::span<const std::uint8_t> key, std::span<const std::uint8_t> message) {
  SecretKey::Bytes bytes{};
  unsigned int n_bytes = 0;
  TSR_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), message.data(),
                 message.size(), bytes.data(), &n_bytes) != nullptr);
  TSR_CHECK(n_bytes == bytes.size());
  return bytes;
}

/// The label, a zero, the input: no label has a zero inside, so that no two pairs are one message.
std::vector<std::uint8_t> message_of(std::string_view label, std::span<const std::uint8_t> input) {
  std::vector<std::uint8_t> message(label.begin(), label.end());
  message.push_back(0);
  message.insert(message.end(), input.begin(), input.end());
  return message;
}

}  // namespace

SecretKey::~SecretKey() {
  ::explicit_bzero(bytes_.data(), bytes_.size());
}

SecretKey SecretKey::extract(std::span<const std::uint8_t> material) {
  const std::vector<std::uint8_t> salt(kExtractSalt.begin(), kExtractSalt.end());
  return SecretKey(hmac(salt, material));
}

SecretKey SecretKey::random() {
  Bytes bytes{};
  // Without entropy nothing of TLS or of API keys would work either.
  TSR_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  return SecretKey(bytes);
}

SecretKey SecretKey::derive(std::string_view label, std::span<const std::uint8_t> input) const {
  return SecretKey(hmac(bytes_, message_of(label, input)));
}

Digest SecretKey::name(std::string_view label, std::span<const std::uint8_t> input) const {
  return {hmac(bytes_, message_of(label, input))};
}

}  // namespace tessera::cache
