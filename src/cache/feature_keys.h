// Names of visual features: who may use them, and everything that their values depend on.
//
//   key = HMAC-SHA-256(secret, encoding of FeatureOrigin and of the encoder's identity)
//
// With the secret, the names of tenants and the encoder's identity of a disk tier, a key is the
// same after a restart; otherwise it is of this process alone.
//
// The encoding is versioned and canonical: fields in a fixed order, each of a fixed width, so that
// two origins never have one encoding. The tenant is part of it: a key of one tenant cannot be made
// by another, whatever bytes it sends. A component that is forgotten here would serve wrong
// features; feature_keys_test.cpp changes each, one at a time.
// @thread any; immutable
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cache/secret_key.h"
#include "cache/tenant_names.h"
#include "core/digest.h"
#include "core/ids.h"
#include "core/image.h"
#include "core/result.h"

namespace tessera::cache {

/// One tile of one image, as the encoder sees it.
struct FeatureOrigin {
  TenantId tenant;
  Digest content;           // SHA-256 of the file's bytes
  std::uint32_t frame = 0;  // of the file
  ImageSize decoded;        // pixels that preprocessing starts from
  ImageSize planned;        // over all tiles
  int n_tiles = 0;
  int tile = 0;
  int n_tokens = 0;
  std::optional<RequestId> only_for;  // a request that shares with no other
  std::uint32_t mention = 0;          // one that shares nothing inside itself either counts them
};

/// @param file  sealed: its size does not change meanwhile
/// @errors      internal (it cannot be mapped, or is shorter)
Result<Digest> content_digest(int file, std::size_t n_bytes);

class FeatureKeys {
 public:
  /// @param encoder  what computes: weights, preprocessing, library; any text
  /// @param secret   makes keys that nobody else can
  FeatureKeys(const SecretKey& secret, const std::string& encoder, TenantNames tenants = {});

  /// With a secret that lives as long as the process.
  explicit FeatureKeys(const std::string& encoder);

  Digest key(const FeatureOrigin& origin) const;

 private:
  SecretKey secret_;
  Digest encoder_;
  TenantNames tenants_;
};

}  // namespace tessera::cache
