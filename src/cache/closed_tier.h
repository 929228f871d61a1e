// The folder of a disk tier that no server has open: who has how much in it, and forgetting. For
// the command line; changes nothing but what it is told to forget, and makes no secret, unlike
// DiskTier::open(), which removes what it cannot use.
//
// The folder is locked meanwhile. Names need the secret and the key file; without them a tenant is
// "folder:t-…", which forget() takes as well.
// @thread one
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/cache_report.h"
#include "cache/disk_files.h"
#include "cache/disk_index.h"
#include "cache/disk_tier.h"
#include "cache/secret_key.h"
#include "cache/tenant_names.h"
#include "core/result.h"
#include "core/unique_fd.h"

namespace tessera::cache {

class ClosedTier {
 public:
  /// @param options  only folder, secret_file and tenants matter
  /// @errors  not_found (`cache_dir_not_found`); unavailable (`cache_dir_in_use`,
  ///          `cache_dir_unusable`); invalid_argument (`cache_secret_unusable`: of a secret_file)
  static Result<std::unique_ptr<ClosedTier>> open(
      DiskTierOptions options, DiskTier::WallClock wall_clock = DiskTier::system_seconds);

  /// Entries whose time is over are left out. Nothing is counted.
  /// @errors  unavailable (`cache_dir_unusable`)
  Result<CacheReport> report();

  /// As FeatureStore's; files are gone when it returns.
  /// @errors  not_found (`tenant_unknown`); invalid_argument (`cache_secret_unusable`: a name
  /// without
  ///          the secret); unavailable (`cache_dir_unusable`)
  Result<ForgottenEntries> forget(std::string_view tenant);
  Result<ForgottenEntries> forget_all();

 private:
  ClosedTier(DiskTierOptions options, DiskTier::WallClock wall_clock,
             std::unique_ptr<DiskFiles> files, UniqueFd lock, std::optional<SecretKey> secret)
      : options_(std::move(options)),
        wall_clock_(std::move(wall_clock)),
        files_(std::move(files)),
        lock_(std::move(lock)),
        secret_(std::move(secret)) {}

  Result<std::vector<TenantFolder>> folders();
  Result<std::size_t> forget_folder(const TenantFolder& folder);
  std::map<TenantFolder, std::string> labels() const;

  const DiskTierOptions options_;
  const DiskTier::WallClock wall_clock_;
  const std::unique_ptr<DiskFiles> files_;
  const UniqueFd lock_;
  const std::optional<SecretKey> secret_;
};

}  // namespace tessera::cache
