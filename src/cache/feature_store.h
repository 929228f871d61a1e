// Where features are looked for and kept: in memory first, then on disk, as far as a request's
// CachePolicy lets it. What is found on disk is kept in memory from then on. The one place that
// knows both tiers.
// @thread all methods are thread-safe
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cache/cache_report.h"
#include "cache/disk_tier.h"
#include "cache/feature_cache.h"
#include "cache/tenant_names.h"
#include "core/request.h"

namespace tessera::cache {

class FeatureStore {
 public:
  /// @param disk     may be null: then there is no such tier; outlives the store
  /// @param tenants  who an operator may name
  /// @param clock    outlives the store
  FeatureStore(const FeatureCacheOptions& memory, const Clock& clock, DiskTier* disk = nullptr,
               TenantNames tenants = {})
      : memory_(memory, clock), disk_(disk), tenants_(std::move(tenants)) {}

  /// Null = not there. May read one file.
  std::shared_ptr<const Embedding> find(const Digest& key, TenantId tenant,
                                        const CachePolicy& policy);

  /// Whether find() would find it, unless its file turns out unreadable; counts and changes
  /// nothing.
  bool has(const Digest& key, const CachePolicy& policy);

  /// Null = not in memory. Never waits.
  std::shared_ptr<const Embedding> find_in_memory(const Digest& key) { return memory_.find(key); }

  /// Keeps what was computed, where the policy allows it.
  /// @param cost  what it took to compute
  /// @return      the value that everybody is to read from now on
  std::shared_ptr<const Embedding> store(const Digest& key, TenantId tenant, Embedding embedding,
                                         Duration cost, const CachePolicy& policy);

  /// Makes everything of a tenant unreadable, in every tier. What a request computes that runs
  /// meanwhile may be kept.
  /// @param tenant  as TenantNames reads it
  /// @errors        not_found (`tenant_unknown`: nobody of that name, and nothing of it on disk);
  ///                those of DiskTier::forget()
  Result<ForgottenEntries> forget(std::string_view tenant);

  /// Whom forget() would take for that, if this start has a number for it.
  std::optional<TenantId> number_of(std::string_view tenant) const { return meant(tenant).number; }

  /// The same of everybody.
  Result<ForgottenEntries> forget_all();

  /// Walks over every entry.
  CacheReport report();

  FeatureCacheStats memory_stats() { return memory_.stats(); }

  /// Of a tier that is not there: all zero, and off.
  DiskTierStats disk_stats();

 private:
  struct Meant {
    std::optional<TenantId> number;
    std::optional<TenantFolder> folder;
  };
  Meant meant(std::string_view tenant) const;
  std::optional<TenantId> tenant_of(const TenantFolder& folder) const;

  FeatureCache memory_;
  DiskTier* const disk_;
  const TenantNames tenants_;
};

/// "folder:t-…" and back.
std::string folder_label(const TenantFolder& folder);
std::optional<TenantFolder> parse_folder_label(std::string_view label);

}  // namespace tessera::cache
