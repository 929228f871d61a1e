// Features that were computed once: projector output of tiles, in memory, by key.
//
// Rows are kept as halves (FeatureCacheOptions::half) or as they are; what comes out is what went
// in, because the encode stage rounds before anybody reads (store()). An entry that no half can
// hold is kept as it is.
//
// When the budget is full, what is worth least goes first: seconds of encoding per byte, aged by a
// clock that rises with each eviction (GreedyDual-Size: Cao and Irani, 1997), so that an entry that
// is used keeps its place and an expensive one keeps it longer. Bytes are overwritten when an entry
// goes. A miss means "compute", never an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cache/cache_report.h"
#include "core/clock.h"
#include "core/digest.h"
#include "core/embedding.h"
#include "core/ids.h"
#include "core/mutex.h"

namespace tessera::cache {

struct FeatureCacheOptions {
  std::size_t bytes_max = 0;  // rows and bookkeeping; 0 = keep nothing
  bool half = true;
};

/// Counters since the start, and what is there now.
struct FeatureCacheStats {
  std::uint64_t n_hits = 0;
  std::uint64_t n_misses = 0;
  std::uint64_t n_evicted = 0;  // for room
  std::uint64_t n_expired = 0;
  std::uint64_t n_forgotten = 0;       // with their tenant
  Duration saved{};                    // encoding that hits made unnecessary
  Duration evicted_age{};              // of all evicted together, since the last use
  std::optional<Duration> oldest_use;  // since the entry was used that was used longest ago
  std::size_t n_entries = 0;
  std::size_t n_bytes = 0;
};

/// @thread all methods are thread-safe; rows are converted outside the lock
class FeatureCache {
 public:
  /// @param clock  outlives the cache
  FeatureCache(const FeatureCacheOptions& options, const Clock& clock);
  ~FeatureCache();
  FeatureCache(const FeatureCache&) = delete;
  FeatureCache& operator=(const FeatureCache&) = delete;

  /// Null = not there. Counts a hit or a miss.
  std::shared_ptr<const Embedding> find(const Digest& key);

  /// Whether find() would find it; counts nothing and changes nothing.
  bool has(const Digest& key);

  /// Keeps a copy and gives the value that everybody is to read from now on: equal to what find()
  /// will give. An entry larger than the whole budget, or one that is there already, is not kept.
  /// @param keep          false = only round
  /// @param cost          what it took to compute
  /// @param time_to_live  nothing = until it is evicted
  std::shared_ptr<const Embedding> store(const Digest& key, TenantId tenant, Embedding embedding,
                                         Duration cost, bool keep,
                                         std::optional<Duration> time_to_live = {});

  /// Drops everything of one tenant, or of all.
  /// @return  how many entries that were
  std::size_t forget(TenantId tenant);
  std::size_t forget_all();

  /// How often anything was forgotten: what was read elsewhere before the last time is stale.
  std::uint64_t n_forgets();

  /// Drops one entry, if it is there.
  void drop(const Digest& key);

  /// Whose entries are here. Walks over all of them.
  std::map<TenantId, TenantUse> by_tenant();
  std::size_t bytes_max() const { return options_.bytes_max; }

  /// Also drops what has expired, which otherwise goes with the next find() or store().
  FeatureCacheStats stats();

 private:
  struct Rows;
  /// What goes first; of what is worth the same, what was used longest ago.
  struct Place {
    double worth = 0;
    std::uint64_t use = 0;  // number of the last one
    Digest key;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Entry {
    std::shared_ptr<const Rows> rows;
    TenantId tenant;
    Duration cost{};
    Place place;        // in order_
    TimePoint expires;  // its place in expiries_
    TimePoint used;
    std::list<const Entry*>::iterator use;  // its place in uses_
  };
  using Entries = std::unordered_map<Digest, Entry>;

  static std::shared_ptr<const Rows> pack(const Embedding& embedding, bool as_halves);
  Place place_of(const Digest& key, const Entry& entry) TSR_REQUIRES(mutex_);
  void make_room(std::size_t n_bytes) TSR_REQUIRES(mutex_);
  void drop_expired() TSR_REQUIRES(mutex_);
  void erase(Entries::iterator entry) TSR_REQUIRES(mutex_);
  std::size_t erase_forgotten(std::optional<TenantId> tenant);

  const FeatureCacheOptions options_;
  const Clock& clock_;
  Mutex mutex_;
  Entries entries_ TSR_GUARDED_BY(mutex_);
  std::set<Place> order_ TSR_GUARDED_BY(mutex_);
  std::set<std::pair<TimePoint, Digest>> expiries_ TSR_GUARDED_BY(mutex_);  // the next first
  std::list<const Entry*> uses_ TSR_GUARDED_BY(mutex_);  // used longest ago first
  std::map<TenantId, std::uint64_t> hits_ TSR_GUARDED_BY(mutex_);
  std::uint64_t n_forgets_ TSR_GUARDED_BY(mutex_) = 0;
  double age_ TSR_GUARDED_BY(mutex_) = 0;  // worth of the last evicted
  std::uint64_t n_uses_ TSR_GUARDED_BY(mutex_) = 0;
  FeatureCacheStats stats_ TSR_GUARDED_BY(mutex_);
};

}  // namespace tessera::cache
