#include "cache/feature_cache.h"

#include <cstring>

#include "cache/half_floats.h"

namespace tessera::cache {
namespace {

/// Beside its rows: nodes of the four containers, the entry and the vector, rounded up.
constexpr std::size_t kEntryBytes = 512;

/// What an entry without a time to live gets; far enough for any process.
constexpr std::chrono::hours kForever{24 * 365 * 100};

template <typename T>
void wipe(std::vector<T>& values) {
  if (!values.empty()) ::explicit_bzero(values.data(), values.size() * sizeof(T));
}

}  // namespace

/// Immutable once shared. Overwritten when the last who reads it is done: features tell a lot about
/// the picture that they come from.
struct FeatureCache::Rows {
  int n_tokens = 0;
  int row_width = 0;
  std::vector<float> floats;          // one of the two
  std::vector<std::uint16_t> halves;  // is empty

  Rows() = default;
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  ~Rows() {
    wipe(floats);
    wipe(halves);
  }

  std::size_t n_bytes() const {
    return floats.size() * sizeof(float) + halves.size() * sizeof(std::uint16_t) + kEntryBytes;
  }

  std::shared_ptr<const Embedding> unpack() const {
    auto embedding = std::make_shared<Embedding>();
    embedding->n_tokens = n_tokens;
    embedding->row_width = row_width;
    embedding->rows = floats;
    if (!halves.empty()) {
      embedding->rows.resize(halves.size());
      from_half(halves, embedding->rows);
    }
    return embedding;
  }
};

FeatureCache::FeatureCache(const FeatureCacheOptions& options, const Clock& clock)
    : options_(options), clock_(clock) {}

FeatureCache::~FeatureCache() = default;

bool FeatureCache::has(const Digest& key) {
  MutexLock lock(mutex_);
  drop_expired();
  return entries_.contains(key);
}

std::shared_ptr<const Embedding> FeatureCache::find(const Digest& key) {
  std::shared_ptr<const Rows> rows;
  {
    MutexLock lock(mutex_);
    drop_expired();
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
      ++stats_.n_misses;
      return nullptr;
    }
    Entry& entry = found->second;
    order_.erase(entry.place);
    entry.place = place_of(key, entry);
    order_.insert(entry.place);
    uses_.splice(uses_.end(), uses_, entry.use);
    entry.used = clock_.now();
    ++stats_.n_hits;
    ++hits_[entry.tenant];
    stats_.saved += entry.cost;
    rows = entry.rows;
  }
  return rows->unpack();
}

std::shared_ptr<const Embedding> FeatureCache::store(const Digest& key, TenantId tenant,
                                                     Embedding embedding, Duration cost, bool keep,
                                                     std::optional<Duration> time_to_live) {
  const bool as_halves = options_.half && fits_half(embedding.rows);
  if (as_halves) round_to_half(embedding.rows);
  auto shared = std::make_shared<const Embedding>(std::move(embedding));
  if (!keep || options_.bytes_max == 0) return shared;
  Entry entry;
  entry.rows = pack(*shared, as_halves);
  entry.tenant = tenant;
  entry.cost = cost;
  const std::size_t n_bytes = entry.rows->n_bytes();
  MutexLock lock(mutex_);
  drop_expired();
  if (n_bytes > options_.bytes_max || entries_.contains(key)) return shared;
  make_room(n_bytes);
  entry.used = clock_.now();
  entry.expires = entry.used + time_to_live.value_or(kForever);
  entry.place = place_of(key, entry);
  order_.insert(entry.place);
  expiries_.insert({entry.expires, key});
  Entry& kept = entries_.emplace(key, std::move(entry)).first->second;
  kept.use = uses_.insert(uses_.end(), &kept);
  stats_.n_bytes += n_bytes;
  return shared;
}

std::size_t FeatureCache::forget(TenantId tenant) {
  return erase_forgotten(tenant);
}

std::size_t FeatureCache::forget_all() {
  return erase_forgotten(std::nullopt);
}

/// @param tenant  nothing = everybody's
std::size_t FeatureCache::erase_forgotten(std::optional<TenantId> tenant) {
  MutexLock lock(mutex_);
  ++n_forgets_;
  if (tenant) {
    hits_.erase(*tenant);
  } else {
    hits_.clear();
  }
  std::size_t n_entries = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (!tenant || entry->second.tenant == *tenant) {
      ++n_entries;
      erase(entry);
    }
    entry = next;
  }
  stats_.n_forgotten += n_entries;
  return n_entries;
}

std::uint64_t FeatureCache::n_forgets() {
  MutexLock lock(mutex_);
  return n_forgets_;
}

void FeatureCache::drop(const Digest& key) {
  MutexLock lock(mutex_);
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) return;
  ++stats_.n_forgotten;
  erase(entry);
}

std::map<TenantId, TenantUse> FeatureCache::by_tenant() {
  MutexLock lock(mutex_);
  drop_expired();
  const TimePoint now = clock_.now();
  std::map<TenantId, TenantUse> all;
  for (const auto& [key, entry] : entries_) {
    all[entry.tenant].add(entry.rows->n_bytes(), now - entry.used);
  }
  for (auto& [tenant, use] : all) {
    if (const auto hits = hits_.find(tenant); hits != hits_.end()) use.n_hits = hits->second;
  }
  return all;
}

FeatureCacheStats FeatureCache::stats() {
  MutexLock lock(mutex_);
  drop_expired();
  FeatureCacheStats stats = stats_;
  stats.n_entries = entries_.size();
  if (!uses_.empty()) stats.oldest_use = clock_.now() - uses_.front()->used;
  return stats;
}

std::shared_ptr<const FeatureCache::Rows> FeatureCache::pack(const Embedding& embedding,
                                                             bool as_halves) {
  auto rows = std::make_shared<Rows>();
  rows->n_tokens = embedding.n_tokens;
  rows->row_width = embedding.row_width;
  if (as_halves) {
    rows->halves.resize(embedding.rows.size());
    to_half(embedding.rows, rows->halves);
  } else {
    rows->floats = embedding.rows;
  }
  return rows;
}

FeatureCache::Place FeatureCache::place_of(const Digest& key, const Entry& entry) {
  const double seconds = std::chrono::duration<double>(entry.cost).count();
  return {age_ + seconds / static_cast<double>(entry.rows->n_bytes()), ++n_uses_, key};
}

void FeatureCache::make_room(std::size_t n_bytes) {
  while (!order_.empty() && stats_.n_bytes + n_bytes > options_.bytes_max) {
    age_ = order_.begin()->worth;
    ++stats_.n_evicted;
    const auto entry = entries_.find(order_.begin()->key);
    stats_.evicted_age += clock_.now() - entry->second.used;
    erase(entry);
  }
}

void FeatureCache::drop_expired() {
  const TimePoint now = clock_.now();
  while (!expiries_.empty() && expiries_.begin()->first <= now) {
    ++stats_.n_expired;
    erase(entries_.find(expiries_.begin()->second));
  }
}

void FeatureCache::erase(Entries::iterator entry) {
  order_.erase(entry->second.place);
  uses_.erase(entry->second.use);
  expiries_.erase({entry->second.expires, entry->first});
  stats_.n_bytes -= entry->second.rows->n_bytes();
  entries_.erase(entry);
}

}  // namespace tessera::cache
