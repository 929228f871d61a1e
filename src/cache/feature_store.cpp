#include "cache/feature_store.h"

#include <algorithm>
#include <utility>

namespace tessera::cache {
namespace {

bool shares(const CachePolicy& policy) {
  return policy.scope == CachePolicy::Scope::kTenant;
}

constexpr std::string_view kFolderLabel = "folder:";

/// What both tiers count.
template <typename Stats>
TierReport tier_report(std::string name, const Stats& stats, std::size_t bytes_max) {
  TierReport tier;
  tier.tier = std::move(name);
  tier.n_entries = stats.n_entries;
  tier.n_bytes = stats.n_bytes;
  tier.bytes_max = bytes_max;
  tier.n_hits = stats.n_hits;
  tier.n_misses = stats.n_misses;
  tier.n_evicted = stats.n_evicted;
  tier.n_expired = stats.n_expired;
  tier.n_forgotten = stats.n_forgotten;
  tier.saved = stats.saved;
  tier.oldest_use = stats.oldest_use;
  return tier;
}

TierReport disk_report(const DiskTierStats& stats, std::size_t bytes_max) {
  TierReport tier = tier_report("disk", stats, bytes_max);
  tier.on = stats.on;
  tier.n_unreadable = stats.n_unreadable;
  tier.n_dropped = stats.n_dropped;
  tier.n_errors = stats.n_errors;
  return tier;
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
  const std::uint64_t n_forgets = memory_.n_forgets();
  std::optional<DiskTier::Found> found = disk_->find(key, tenant);
  if (!found) return nullptr;
  auto kept = memory_.store(key, tenant, std::move(found->embedding), found->cost, true,
                            found->time_to_live);
  // It was read before its tenant was forgotten, perhaps; this request may still use it.
  if (memory_.n_forgets() != n_forgets) memory_.drop(key);
  return kept;
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

FeatureStore::Meant FeatureStore::meant(std::string_view tenant) const {
  TenantNames::Named named = tenants_.named(tenant);
  if (disk_ == nullptr) return {named.tenant, {}};
  if (auto folder = parse_folder_label(tenant)) return {tenant_of(*folder), folder};
  return {named.tenant, disk_->folder(named.name)};
}

Result<ForgottenEntries> FeatureStore::forget(std::string_view tenant) {
  const auto [number, folder] = meant(tenant);
  if (!number && !(folder && disk_->knows(*folder))) return unknown_tenant();
  ForgottenEntries forgotten;
  // Disk first: what is read of it meanwhile is not kept in memory after that.
  Result<std::size_t> n_disk = std::size_t{0};
  if (folder) n_disk = disk_->forget(*folder);
  if (number) forgotten.n_memory = memory_.forget(*number);
  if (!n_disk) return n_disk.error();
  forgotten.n_disk = *n_disk;
  return forgotten;
}

Result<ForgottenEntries> FeatureStore::forget_all() {
  ForgottenEntries forgotten;
  Result<std::size_t> n_disk = std::size_t{0};
  if (disk_ != nullptr) n_disk = disk_->forget_all();
  forgotten.n_memory = memory_.forget_all();
  if (!n_disk) return n_disk.error();
  forgotten.n_disk = *n_disk;
  return forgotten;
}

/// Who has this folder, of those that have a name.
std::optional<TenantId> FeatureStore::tenant_of(const TenantFolder& folder) const {
  for (std::uint32_t i = 0; i < tenants_.size(); ++i) {
    if (disk_->folder(tenants_.name(TenantId{i})) == folder) return TenantId{i};
  }
  return std::nullopt;
}

CacheReport FeatureStore::report() {
  CacheReport report;
  TierReport memory = tier_report("memory", memory_.stats(), memory_.bytes_max());
  for (auto& [tenant, use] : memory_.by_tenant()) {
    use.tenant = tenants_.label(tenant);
    memory.tenants.push_back(std::move(use));
  }
  report.tiers.push_back(std::move(memory));
  if (disk_ == nullptr) return report;
  TierReport disk = disk_report(disk_->stats(), disk_->bytes_max());
  std::map<TenantFolder, std::string> labels;
  for (std::uint32_t i = 0; i < tenants_.size(); ++i) {
    labels.emplace(disk_->folder(tenants_.name(TenantId{i})), tenants_.label(TenantId{i}));
  }
  for (auto& [folder, use] : disk_->by_tenant()) {
    const auto label = labels.find(folder);
    use.tenant = label == labels.end() ? folder_label(folder) : label->second;
    disk.tenants.push_back(std::move(use));
  }
  report.tiers.push_back(std::move(disk));
  for (TierReport& tier : report.tiers) std::ranges::sort(tier.tenants, {}, &TenantUse::tenant);
  return report;
}

std::string folder_label(const TenantFolder& folder) {
  return std::string(kFolderLabel) + folder_path(folder);
}

std::optional<TenantFolder> parse_folder_label(std::string_view label) {
  if (!label.starts_with(kFolderLabel)) return std::nullopt;
  return parse_folder(label.substr(kFolderLabel.size()));
}

DiskTierStats FeatureStore::disk_stats() {
  if (disk_ != nullptr) return disk_->stats();
  DiskTierStats none;
  none.on = false;
  return none;
}

}  // namespace tessera::cache
