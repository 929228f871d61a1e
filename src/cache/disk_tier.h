// The disk tier of the feature cache: what was computed yesterday is found today.
//
//   cache_dir/features-1/lock            one process at a time
//                        secret          unless it is kept elsewhere
//                        t-…/salt        a tenant's folder; its key is made of secret, salt and
//                        name t-…/KEY.EXPIRES one entry (disk_entry.h)
//
// One file an entry (docs/decisions/0005-disk-tier.md). An entry is written beside its place and
// renamed into it, without fsync: whatever a crash leaves of it does not open, and what does not
// open is a miss and removed. Salts are synced before anything is sealed with them.
//
// A tenant is forgotten by removing its salt: then nothing of it can be opened any more. Its files
// are removed afterwards, at the latest when the tier is opened again.
//
// An I/O error, a full disk included, turns the tier off until the next start, with one warning:
// everything is a miss then.
//
// Threads: find() reads on the caller's, one entry at most. store() queues and never waits; one
// thread of the tier's own writes and removes. Times to live are by the wall clock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cache/disk_entry.h"
#include "cache/disk_files.h"
#include "cache/disk_index.h"
#include "cache/disk_salts.h"
#include "cache/disk_tier_stats.h"
#include "cache/secret_key.h"
#include "cache/tenant_names.h"
#include "core/clock.h"
#include "core/ids.h"
#include "core/mutex.h"
#include "core/result.h"

namespace tessera::cache {

/// Entries that wait to be written, and their rows' bytes together. A large picture's tiles at
/// once, and a disk that stalls costs no more memory than this; what does not fit is not kept.
inline constexpr std::size_t kWritesWaitingMax = 256;
inline constexpr std::size_t kWritingBytesMax = std::size_t{128} << 20U;

struct DiskTierOptions {
  std::string folder;       // made when missing; its parent is not
  std::string secret_file;  // empty = inside the folder
  std::size_t bytes_max = 0;
  bool half = true;  // FeatureCacheOptions::half
  TenantNames tenants;
  std::size_t writing_bytes_max = kWritingBytesMax;
};

/// Inside cache_dir: of this format. Another one lives beside it and touches nothing here.
std::string version_folder(const std::string& cache_dir);

/// Inside that; whoever has it locked has the folder.
inline constexpr std::string_view kLockName = "lock";

/// @thread all methods are thread-safe, but for shutdown()
class DiskTier {
 public:
  /// Seconds since 1970.
  using WallClock = std::function<std::int64_t()>;
  static std::int64_t system_seconds();

  /// @errors  invalid_argument (`cache_secret_unusable`); cancelled (`cache_dir_in_use`);
  ///          not_found, resource_exhausted or unavailable (`cache_dir_unusable`)
  static Result<std::unique_ptr<DiskTier>> open(DiskTierOptions options,
                                                WallClock wall_clock = system_seconds);

  /// The same on other files; for tests.
  static Result<std::unique_ptr<DiskTier>> open(DiskTierOptions options, WallClock wall_clock,
                                                std::unique_ptr<DiskFiles> files,
                                                const SecretKey& secret);

  ~DiskTier() { shutdown(); }
  DiskTier(const DiskTier&) = delete;
  DiskTier& operator=(const DiskTier&) = delete;

  /// What FeatureKeys are made with, so that keys are the same after a restart.
  SecretKey key_secret() const;
  const TenantNames& tenants() const { return options_.tenants; }

  struct Found {
    Embedding embedding;
    Duration cost{};
    std::optional<Duration> time_to_live;  // what is left of it
  };
  std::optional<Found> find(const Digest& key, TenantId tenant);

  /// Whether there is a file of this key, which has the tenant in it.
  bool has(const Digest& key);

  /// Queues an entry to be written. One that is there already is left as it is.
  /// @param embedding  as FeatureCache::store() gave it
  void store(const Digest& key, TenantId tenant, std::shared_ptr<const Embedding> embedding,
             Duration cost, std::optional<Duration> time_to_live);

  TenantFolder folder(const std::string& name) const { return salts_.folder(name); }
  TenantFolder folder(TenantId tenant) const { return salts_.folder(name_of(tenant)); }

  /// Whether anything was written for a tenant, by this start or an earlier one.
  bool knows(const TenantFolder& folder) { return salts_.has(folder); }

  /// Makes everything of a tenant unreadable, at once.
  /// @return  how many entries that were
  /// @errors  resource_exhausted or unavailable (`cache_dir_unusable`): the salt may be there still
  Result<std::size_t> forget(const TenantFolder& folder);
  Result<std::size_t> forget(TenantId tenant) { return forget(folder(tenant)); }

  /// The same for everybody who is known when it is called.
  Result<std::size_t> forget_all();

  /// Whose entries are here. Walks over all of them.
  std::map<TenantFolder, TenantUse> by_tenant();
  std::size_t bytes_max() const { return options_.bytes_max; }

  /// Waits until what was queued is written.
  void flush();

  /// Writes what is queued, then stops. Idempotent.
  void shutdown();

  DiskTierStats stats();

 private:
  struct Write {
    Digest key;
    TenantId tenant;
    TenantFolder folder{};
    DiskSalts::Age age = 0;  // of the tenant's salt when it was queued
    std::shared_ptr<const Embedding> embedding;
    Duration cost{};
    std::int64_t expires = 0;
  };

  DiskTier(DiskTierOptions options, WallClock wall_clock, std::unique_ptr<DiskFiles> files,
           const SecretKey& secret, UniqueFd lock);

  Result<void> scan();
  std::string name_of(TenantId tenant) const { return options_.tenants.name(tenant); }

  void run(const std::stop_token& stop);
  bool wait_for_work(const std::stop_token& stop, std::vector<std::string>& doomed,
                     std::optional<Write>& write);
  Result<void> do_write(const Write& write);
  Result<bool> make_room(const Digest& key, std::size_t n_bytes);
  Result<void> remove(const std::string& path);
  std::optional<DiskEntry> read(const EntryPlace& place, const SecretKey& tenant_key);
  void drop_expired() TSR_REQUIRES(mutex_);
  void doom(const std::vector<EntryPlace>& places) TSR_REQUIRES(mutex_);
  void turn_off(const Error& error);

  const DiskTierOptions options_;
  const WallClock wall_clock_;
  const std::unique_ptr<DiskFiles> files_;
  const SecretKey secret_;
  const UniqueFd lock_;
  std::atomic<bool> on_{true};

  DiskSalts salts_;

  Mutex mutex_;
  CondVar work_;
  CondVar idle_;
  DiskIndex index_ TSR_GUARDED_BY(mutex_);
  std::deque<Write> writes_ TSR_GUARDED_BY(mutex_);
  std::size_t n_writing_bytes_ TSR_GUARDED_BY(mutex_) = 0;  // rows of writes_
  std::vector<std::string> doomed_ TSR_GUARDED_BY(mutex_);  // files to remove
  bool busy_ TSR_GUARDED_BY(mutex_) = false;
  DiskTierStats stats_ TSR_GUARDED_BY(mutex_);
  std::map<TenantFolder, std::uint64_t> hits_ TSR_GUARDED_BY(mutex_);  // of tenants with salts

  std::jthread thread_;
};

}  // namespace tessera::cache
