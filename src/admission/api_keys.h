// API keys: who may call /v1, and on whose account. Also the keys of operators, who may call
// /admin: a file of the same form, in which names only tell people whose key it is.
//
// The key file holds one key per line, optionally after a name and a colon:
//
//   # comment
//   alice: 3b0d0f9c6f2e4a9d8c1b
//   alice: the-next-key-of-alice-while-she-rotates
//   a-key-without-a-name-0123456789
//
// Lines with the same name are one tenant; a key without a name is a tenant of its own. A key is
// 16 to 256 printable ASCII characters without blanks and colons. Only SHA-256 digests are kept.
//
// A name may also have rules of its own (cache_rules.h), which come before the server's:
//
//   alice: cache ttl_seconds_max=3600 tier_max=memory
//
// Immutable after construction: every const method may be called from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "admission/cache_rules.h"
#include "core/ids.h"
#include "core/result.h"

namespace tessera::admission {

class ApiKeys {
 public:
  /// No key file: everyone is TenantId{0}.
  ApiKeys() = default;

  /// Tenants are numbered from 1 in order of first appearance.
  /// @errors  invalid_argument: names the line, never a key; also when there is no key at all
  /// @param file  what errors call it
  static Result<ApiKeys> parse(std::string_view text, std::string_view file = "API key file");

  /// @errors  as parse(); not_found (the file cannot be read)
  static Result<ApiKeys> load(const std::string& path, std::string_view file = "API key file");

  /// The first key of such a file, for whoever presents it.
  static Result<std::string> load_first_key(const std::string& path, std::string_view file);

  /// No key is asked for.
  bool open() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }

  /// Takes the same time for every key of the same length.
  /// @param key  what the client presented; empty = nothing
  /// @errors     unauthenticated
  Result<TenantId> authenticate(std::string_view key) const;

  /// Whether any key is in both. One that opens two doors is a mistake.
  bool shares_key_with(const ApiKeys& others) const;

  /// The rules of a tenant, and where it has none of its own, `server`.
  CacheRules cache_rules(TenantId tenant, const CacheRules& server) const;

  /// Of each tenant by its number, what it keeps when the file is edited: its name, or the digest
  /// of a key without one. No two are the same.
  std::vector<std::string> stable_names() const { return stable_names_; }

 private:
  using Digest = std::array<std::uint8_t, 32>;
  struct Entry {
    Digest digest{};
    TenantId tenant;
  };
  using Tenants = std::map<std::string, TenantId, std::less<>>;  // by name

  static Digest digest_of(std::string_view key);
  Result<void> add(std::string_view name, std::string_view key, int line, std::vector<int>& lines,
                   Tenants& tenants);

  std::vector<Entry> entries_;
  std::map<TenantId, CacheRules> cache_rules_;
  std::vector<std::string> stable_names_{"everyone"};
};

}  // namespace tessera::admission
