#include "cache/feature_store.h"

#include <utility>

namespace tessera::cache {
namespace {

bool shares(const CachePolicy& policy) {
  return policy.scope == CachePolicy::Scope::kTenant;
}

bool may_use_disk(const CachePolicy& policy) {
  return shares(policy) && policy.tier == CachePolicy::Tier::kAll;
}

}  // namespace

std::shared_ptr<const Embedding> FeatureStore::find(const Digest& key, TenantId tenant,
                                                    const CachePolicy& policy) {
  if (!shares(policy)) return nullptr;
  if (auto known = memory_.find(key)) return known;
  if (disk_ == nullptr || !may_use_disk(policy)) return nullptr;
  std::optional<DiskTier::Found> found = disk_->find(key, tenant);
  if (!found) return nullptr;
  return memory_.store(key, tenant, std::move(found->embedding), found->cost, true,
                       found->time_to_live);
}

bool FeatureStore::has(const Digest& key, const CachePolicy& policy) {
  if (!shares(policy)) return false;
  return memory_.has(key) || (disk_ != nullptr && may_use_disk(policy) && disk_->has(key));
}

std::shared_ptr<const Embedding> FeatureStore::store(const Digest& key, TenantId tenant,
                                                     Embedding embedding, Duration cost,
                                                     const CachePolicy& policy) {
  auto stored =
      memory_.store(key, tenant, std::move(embedding), cost, shares(policy), policy.time_to_live);
  if (disk_ != nullptr && may_use_disk(policy)) {
    disk_->store(key, tenant, stored, cost, policy.time_to_live);
  }
  return stored;
}

Result<void> FeatureStore::forget(TenantId tenant) {
  memory_.forget(tenant);
  if (disk_ == nullptr) return {};
  auto forgotten = disk_->forget(tenant);
  // What was read from disk meanwhile.
  memory_.forget(tenant);
  return forgotten;
}

DiskTierStats FeatureStore::disk_stats() {
  if (disk_ != nullptr) return disk_->stats();
  DiskTierStats none;
  none.on = false;
  return none;
}

}  // namespace tessera::cache
