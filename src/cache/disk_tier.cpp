#include "cache/disk_tier.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cache/disk_secret.h"
#include "core/log.h"

namespace tessera::cache {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

std::size_t rows_bytes(const Embedding& embedding) {
  return embedding.rows.size() * sizeof(float);
}

/// Seconds since 1970, rounded up: a time to live is never cut to nothing.
std::int64_t expiry(std::int64_t now, std::optional<Duration> time_to_live) {
  if (!time_to_live) return 0;
  return now + std::chrono::ceil<std::chrono::seconds>(*time_to_live).count();
}

bool is_sound(const Embedding& embedding) {
  const auto n_tokens = static_cast<std::size_t>(std::max(embedding.n_tokens, 0));
  const auto row_width = static_cast<std::size_t>(std::max(embedding.row_width, 0));
  return !embedding.rows.empty() && embedding.rows.size() == n_tokens * row_width;
}

}  // namespace

std::int64_t DiskTier::system_seconds() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since_1970).count();
}

Result<std::unique_ptr<DiskTier>> DiskTier::open(DiskTierOptions options, WallClock wall_clock) {
  // The first makes the folder, the second the one inside.
  TSR_ASSIGN_OR_RETURN(const auto outer, DiskFiles::open(options.folder));
  const std::string folder = version_folder(options.folder);
  TSR_ASSIGN_OR_RETURN(auto files, DiskFiles::open(folder));
  const std::string secret_file =
      options.secret_file.empty() ? folder + "/secret" : options.secret_file;
  TSR_ASSIGN_OR_RETURN(const SecretKey secret, load_or_make_secret(secret_file));
  return open(std::move(options), std::move(wall_clock), std::move(files), secret);
}

Result<std::unique_ptr<DiskTier>> DiskTier::open(DiskTierOptions options, WallClock wall_clock,
                                                 std::unique_ptr<DiskFiles> files,
                                                 const SecretKey& secret) {
  TSR_ASSIGN_OR_RETURN(UniqueFd lock, files->lock(std::string(kLockName)));
  std::unique_ptr<DiskTier> tier(new DiskTier(std::move(options), std::move(wall_clock),
                                              std::move(files), secret, std::move(lock)));
  TSR_RETURN_IF_ERROR(tier->scan());
  tier->thread_ = std::jthread([raw = tier.get()](const std::stop_token& stop) { raw->run(stop); });
  pthread_setname_np(tier->thread_.native_handle(), "feature disk");
  return tier;
}

DiskTier::DiskTier(DiskTierOptions options, WallClock wall_clock, std::unique_ptr<DiskFiles> files,
                   const SecretKey& secret, UniqueFd lock)
    : options_(std::move(options)),
      wall_clock_(std::move(wall_clock)),
      files_(std::move(files)),
      secret_(secret),
      lock_(std::move(lock)),
      salts_(*files_, secret),
      index_(options_.bytes_max) {}

std::string version_folder(const std::string& cache_dir) {
  return cache_dir + "/features-1";
}

SecretKey DiskTier::key_secret() const {
  return secret_.derive("feature keys 1");
}

/// Finds what earlier starts left. What cannot be used is removed by the thread.
Result<void> DiskTier::scan() {
  struct Left {
    EntryPlace place;
    std::size_t n_bytes = 0;
    std::int64_t used_ns = 0;
  };
  std::vector<Left> all;
  TSR_ASSIGN_OR_RETURN(const std::vector<ListedFile> folders, files_->list("."));
  MutexLock lock(mutex_);
  for (const ListedFile& listed : folders) {
    const auto folder = parse_folder(listed.name);
    if (!listed.is_folder || !folder) continue;
    TSR_ASSIGN_OR_RETURN(const bool has_salt, salts_.load(*folder));
    TSR_ASSIGN_OR_RETURN(const std::vector<ListedFile> files, files_->list(listed.name));
    for (const ListedFile& file : files) {
      if (file.is_folder) continue;
      const auto place = parse_entry(*folder, file.name);
      if (place && has_salt) {
        all.push_back({*place, file.n_bytes, file.used_ns});
      } else if (place || file.name == kUnfinishedName || (file.name == kSaltName && !has_salt)) {
        doomed_.push_back(listed.name + "/" + file.name);
      }
    }
  }
  std::ranges::sort(all, {}, &Left::used_ns);
  const std::int64_t now = wall_clock_();
  for (const Left& left : all) {
    const auto evicted = index_.make_room(left.n_bytes, now);
    if (!evicted || index_.find(left.place.key) != nullptr) {
      doomed_.push_back(left.place.path());
      continue;
    }
    stats_.n_evicted += evicted->size();
    doom(*evicted);
    index_.insert(left.place, left.n_bytes, left.used_ns / kNanosecondsPerSecond);
  }
  drop_expired();
  return {};
}

bool DiskTier::has(const Digest& key) {
  if (!on_) return false;
  MutexLock lock(mutex_);
  drop_expired();
  return index_.find(key) != nullptr;
}

std::optional<DiskTier::Found> DiskTier::find(const Digest& key, TenantId tenant) {
  if (!on_) return std::nullopt;
  const std::string name = name_of(tenant);
  const TenantFolder folder = salts_.folder(name);
  const std::optional<SecretKey> tenant_key = salts_.key(folder, name);
  EntryPlace place;
  {
    MutexLock lock(mutex_);
    drop_expired();
    const EntryPlace* const known = index_.use(key, wall_clock_());
    if (known == nullptr || known->folder != folder || !tenant_key) {
      ++stats_.n_misses;
      return std::nullopt;
    }
    place = *known;
  }
  std::optional<DiskEntry> entry = read(place, *tenant_key);
  MutexLock lock(mutex_);
  if (!entry) {
    ++stats_.n_misses;
    return std::nullopt;
  }
  ++stats_.n_hits;
  ++hits_[folder];
  stats_.saved += entry->cost;
  Found found{std::move(entry->embedding), entry->cost, std::nullopt};
  if (entry->expires != 0) {
    const std::int64_t seconds_left = entry->expires - wall_clock_();
    found.time_to_live = std::chrono::seconds(std::max<std::int64_t>(seconds_left, 0));
  }
  return found;
}

/// What cannot be read is removed, unless it is there no more.
std::optional<DiskEntry> DiskTier::read(const EntryPlace& place, const SecretKey& tenant_key) {
  auto bytes = files_->read(place.path(), kEntryBytesMax);
  if (!bytes && bytes.error().code != ErrorCode::kNotFound) {
    turn_off(bytes.error());
    return std::nullopt;
  }
  if (bytes) {
    std::optional<DiskEntry> entry = open_entry(tenant_key, place.key, *bytes);
    // The name says until when it is kept; what was sealed decides.
    if (entry && entry->expires == place.expires) {
      files_->touch(place.path());
      return entry;
    }
  }
  MutexLock lock(mutex_);
  // Whoever evicted it meanwhile has counted it.
  if (!index_.erase(place)) return std::nullopt;
  ++stats_.n_unreadable;
  doom({place});
  return std::nullopt;
}

void DiskTier::store(const Digest& key, TenantId tenant, std::shared_ptr<const Embedding> embedding,
                     Duration cost, std::optional<Duration> time_to_live) {
  if (!on_ || !is_sound(*embedding)) return;
  if (sealed_bytes(*embedding, false) > kEntryBytesMax) return;
  Write write{key,
              tenant,
              salts_.folder(name_of(tenant)),
              0,
              std::move(embedding),
              cost,
              expiry(wall_clock_(), time_to_live)};
  write.age = salts_.age(write.folder);
  const std::size_t n_bytes = rows_bytes(*write.embedding);
  MutexLock lock(mutex_);
  drop_expired();
  if (index_.find(key) != nullptr) return;
  if (writes_.size() >= kWritesWaitingMax ||
      n_writing_bytes_ + n_bytes > options_.writing_bytes_max) {
    ++stats_.n_dropped;
    return;
  }
  writes_.push_back(std::move(write));
  n_writing_bytes_ += n_bytes;
  work_.notify_one();
}

DiskTierStats DiskTier::stats() {
  MutexLock lock(mutex_);
  drop_expired();
  DiskTierStats stats = stats_;
  stats.n_entries = index_.size();
  stats.n_bytes = index_.n_bytes();
  stats.on = on_;
  stats.evicted_age = std::chrono::seconds(index_.evicted_seconds());
  if (const auto used = index_.oldest_use()) {
    stats.oldest_use = std::chrono::seconds(std::max<std::int64_t>(wall_clock_() - *used, 0));
  }
  return stats;
}

void DiskTier::drop_expired() {
  const std::vector<EntryPlace> gone = index_.take_expired(wall_clock_());
  stats_.n_expired += gone.size();
  doom(gone);
}

void DiskTier::doom(const std::vector<EntryPlace>& places) {
  if (places.empty()) return;
  for (const EntryPlace& place : places) doomed_.push_back(place.path());
  work_.notify_one();
}

void DiskTier::turn_off(const Error& error) {
  if (on_.exchange(false)) {
    log(LogLevel::kWarning, "feature_disk_off",
        {{"code", error.code}, {"disk_full", error.code == ErrorCode::kResourceExhausted}});
  }
  MutexLock lock(mutex_);
  ++stats_.n_errors;
  writes_.clear();
  n_writing_bytes_ = 0;
  doomed_.clear();
}

}  // namespace tessera::cache
