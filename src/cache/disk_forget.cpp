// What an operator does with the disk tier while it is open: sees who has how much, and forgets.
#include <utility>

#include "cache/disk_tier.h"

namespace tessera::cache {

Result<std::size_t> DiskTier::forget(const TenantFolder& folder) {
  auto forgotten = salts_.forget(folder);
  std::size_t n_entries = 0;
  {
    // What is being written now has an older age and is not taken into the index.
    MutexLock lock(mutex_);
    const std::vector<EntryPlace> places = index_.take_tenant(folder);
    n_entries = places.size();
    stats_.n_forgotten += n_entries;
    hits_.erase(folder);
    doom(places);
    std::erase_if(writes_, [&folder](const Write& write) { return write.folder == folder; });
    n_writing_bytes_ = 0;
    for (const Write& write : writes_) {
      n_writing_bytes_ += write.embedding->rows.size() * sizeof(float);
    }
  }
  if (!forgotten) {
    turn_off(forgotten.error());
    return forgotten.error();
  }
  return n_entries;
}

Result<std::size_t> DiskTier::forget_all() {
  std::size_t n_entries = 0;
  for (const TenantFolder& folder : salts_.folders()) {
    TSR_ASSIGN_OR_RETURN(const std::size_t n, forget(folder));
    n_entries += n;
  }
  return n_entries;
}

std::map<TenantFolder, TenantUse> DiskTier::by_tenant() {
  MutexLock lock(mutex_);
  drop_expired();
  auto all = index_.by_tenant(wall_clock_());
  for (auto& [folder, use] : all) {
    if (const auto hits = hits_.find(folder); hits != hits_.end()) use.n_hits = hits->second;
  }
  return all;
}

}  // namespace tessera::cache
