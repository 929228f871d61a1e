#include "cache/closed_tier.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "cache/disk_salts.h"
#include "cache/disk_secret.h"
#include "cache/feature_store.h"

namespace tessera::cache {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

}  // namespace

Result<std::unique_ptr<ClosedTier>> ClosedTier::open(DiskTierOptions options,
                                                     DiskTier::WallClock wall_clock) {
  const std::string folder = version_folder(options.folder);
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    return make_error(ErrorCode::kNotFound, "cache_dir_not_found",
                      "no server has kept features in that folder", "cache_dir");
  }
  TSR_ASSIGN_OR_RETURN(auto files, DiskFiles::open(folder));
  TSR_ASSIGN_OR_RETURN(UniqueFd lock, files->lock(std::string(kLockName)));
  const bool is_inside = options.secret_file.empty();
  auto secret = load_secret(is_inside ? folder + "/secret" : options.secret_file);
  // One that is elsewhere is not missed until a name is asked for.
  if (!secret && !is_inside) return secret.error();
  std::optional<SecretKey> known;
  if (secret) known.emplace(*std::move(secret));
  return std::unique_ptr<ClosedTier>(new ClosedTier(std::move(options), std::move(wall_clock),
                                                    std::move(files), std::move(lock),
                                                    std::move(known)));
}

Result<std::vector<TenantFolder>> ClosedTier::folders() {
  std::vector<TenantFolder> all;
  TSR_ASSIGN_OR_RETURN(const std::vector<ListedFile> listed, files_->list("."));
  for (const ListedFile& file : listed) {
    const auto folder = parse_folder(file.name);
    if (file.is_folder && folder) all.push_back(*folder);
  }
  return all;
}

std::map<TenantFolder, std::string> ClosedTier::labels() const {
  std::map<TenantFolder, std::string> all;
  if (!secret_) return all;
  const DiskSalts salts(*files_, *secret_);
  for (std::uint32_t i = 0; i < options_.tenants.size(); ++i) {
    const TenantId tenant{i};
    all.emplace(salts.folder(options_.tenants.name(tenant)), options_.tenants.label(tenant));
  }
  return all;
}

Result<CacheReport> ClosedTier::report() {
  TierReport disk;
  disk.tier = "disk";
  const std::int64_t now = wall_clock_();
  const auto known = labels();
  TSR_ASSIGN_OR_RETURN(const std::vector<TenantFolder> all, folders());
  for (const TenantFolder& folder : all) {
    TSR_ASSIGN_OR_RETURN(const auto listed, files_->list(folder_path(folder)));
    TenantUse use;
    const bool has_salt = std::ranges::find(listed, kSaltName, &ListedFile::name) != listed.end();
    for (const ListedFile& file : listed) {
      const auto place = parse_entry(folder, file.name);
      if (!has_salt || !place || (place->expires != 0 && place->expires <= now)) continue;
      const std::int64_t used = file.used_ns / kNanosecondsPerSecond;
      use.add(disk_bytes(file.n_bytes),
              std::chrono::seconds(std::max<std::int64_t>(now - used, 0)));
    }
    if (use.n_entries == 0) continue;
    const auto label = known.find(folder);
    use.tenant = label == known.end() ? folder_label(folder) : label->second;
    disk.n_entries += use.n_entries;
    disk.n_bytes += use.n_bytes;
    disk.oldest_use = std::max(disk.oldest_use.value_or(Duration::zero()), use.oldest_use);
    disk.tenants.push_back(std::move(use));
  }
  std::ranges::sort(disk.tenants, {}, &TenantUse::tenant);
  CacheReport report;
  report.tiers.push_back(std::move(disk));
  return report;
}

Result<ForgottenEntries> ClosedTier::forget(std::string_view tenant) {
  std::optional<TenantFolder> folder = parse_folder_label(tenant);
  if (!folder) {
    if (!secret_) {
      return make_error(ErrorCode::kInvalidArgument, "cache_secret_unusable",
                        "the secret of cache_dir is not in it, and no name means anything without "
                        "it: say --cache-secret-file, or a tenant as `list` shows it",
                        "cache_secret_file");
    }
    folder = DiskSalts(*files_, *secret_).folder(options_.tenants.named(tenant).name);
  }
  TSR_ASSIGN_OR_RETURN(const std::vector<TenantFolder> all, folders());
  if (std::ranges::find(all, *folder) == all.end()) return unknown_tenant();
  TSR_ASSIGN_OR_RETURN(const std::size_t n_entries, forget_folder(*folder));
  return ForgottenEntries{0, n_entries};
}

Result<ForgottenEntries> ClosedTier::forget_all() {
  TSR_ASSIGN_OR_RETURN(const std::vector<TenantFolder> all, folders());
  ForgottenEntries forgotten;
  for (const TenantFolder& folder : all) {
    TSR_ASSIGN_OR_RETURN(const std::size_t n_entries, forget_folder(folder));
    forgotten.n_disk += n_entries;
  }
  return forgotten;
}

/// The salt first: from then on nothing of it can be opened, whatever happens to the rest.
Result<std::size_t> ClosedTier::forget_folder(const TenantFolder& folder) {
  const std::string path = folder_path(folder);
  const auto removed = files_->remove(path + "/" + std::string(kSaltName));
  if (!removed && removed.error().code != ErrorCode::kNotFound) return removed.error();
  TSR_RETURN_IF_ERROR(files_->sync_folder(path));
  TSR_ASSIGN_OR_RETURN(const std::vector<ListedFile> listed, files_->list(path));
  std::size_t n_entries = 0;
  for (const ListedFile& file : listed) {
    const bool is_entry = parse_entry(folder, file.name).has_value();
    if (file.is_folder || !(is_entry || file.name == kUnfinishedName)) continue;
    TSR_RETURN_IF_ERROR(files_->remove(path + "/" + file.name));
    n_entries += is_entry ? 1 : 0;
  }
  return n_entries;
}

}  // namespace tessera::cache
