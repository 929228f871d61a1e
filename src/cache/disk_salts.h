// The salts of tenants on disk: what a tenant's key is made of besides the server's secret, and
// what is removed to forget it.
//
// A salt is 32 random bytes and their HMAC, so that one that was cut, changed, or made under
// another secret counts as none. It is synced before it is used: what is sealed with a salt that a
// crash loses is lost as well, and takes room until then.
//
// An age tells an entry that was queued before its tenant was forgotten from one that came later.
// @thread all methods are thread-safe; make() and forget() wait for the disk, the others never
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache/disk_files.h"
#include "cache/disk_index.h"
#include "cache/secret_key.h"
#include "core/mutex.h"
#include "core/result.h"

namespace tessera::cache {

inline constexpr std::string_view kSaltName = "salt";

class DiskSalts {
 public:
  using Age = std::uint64_t;

  /// @param files  outlive it
  DiskSalts(DiskFiles& files, const SecretKey& secret) : files_(files), secret_(secret) {}

  /// @param name  of the tenant, as TenantNames has it
  TenantFolder folder(const std::string& name) const;

  /// Reads a salt from an earlier start.
  /// @return  false when there is none that can be used
  Result<bool> load(const TenantFolder& folder);

  /// The tenant's key. None when nothing was written for it.
  std::optional<SecretKey> key(const TenantFolder& folder, const std::string& name);

  /// Makes folder and salt first, if need be.
  /// @return  nothing when the tenant was forgotten since it had this age
  Result<std::optional<SecretKey>> make(const TenantFolder& folder, const std::string& name,
                                        Age age);

  /// No key() or make() of this age or before succeeds any more.
  Result<void> forget(const TenantFolder& folder);

  Age age(const TenantFolder& folder);

  /// Whether key() would give one.
  bool has(const TenantFolder& folder);

  /// Of all tenants that have a salt.
  std::vector<TenantFolder> folders();

 private:
  struct Tenant {
    std::optional<SecretKey> salt;
    Age age = 0;  // times that it was forgotten
  };

  SecretKey key_of(const SecretKey& salt, const std::string& name) const;
  Digest proof_of(const SecretKey& salt, const TenantFolder& folder) const;

  DiskFiles& files_;
  const SecretKey secret_;
  Mutex files_mutex_;  // while a salt's file is written or removed; before mutex_
  Mutex mutex_;
  std::map<TenantFolder, Tenant> tenants_ TSR_GUARDED_BY(mutex_);
};

}  // namespace tessera::cache
