// What an operator is told about the feature cache: figures of each tier and of each tenant in it.
// No key, no content, nothing of what a picture shows.
//
// Ages are times since the last use, in both tiers: that is what decides who goes, and a file says
// it after a restart as well.
// @thread values
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"

namespace tessera::cache {

/// What one tenant has in one tier.
struct TenantUse {
  std::string tenant;  // TenantNames::label(), or "folder:…" of one that nobody knows
  std::size_t n_entries = 0;
  std::size_t n_bytes = 0;
  std::uint64_t n_hits = 0;  // since the start
  Duration oldest_use{};     // since the entry was used that was used longest ago
  Duration last_use{};       // since any was

  void add(std::size_t entry_bytes, Duration idle) {
    oldest_use = n_entries == 0 ? idle : std::max(oldest_use, idle);
    last_use = n_entries == 0 ? idle : std::min(last_use, idle);
    ++n_entries;
    n_bytes += entry_bytes;
  }
};

/// Counts are since the start.
struct TierReport {
  std::string tier;  // "memory" or "disk"
  bool on = true;    // false after an error of the file system
  std::size_t n_entries = 0;
  std::size_t n_bytes = 0;
  std::size_t bytes_max = 0;  // 0 = nobody said
  std::uint64_t n_hits = 0;
  std::uint64_t n_misses = 0;
  std::uint64_t n_evicted = 0;
  std::uint64_t n_expired = 0;
  std::uint64_t n_forgotten = 0;
  std::uint64_t n_unreadable = 0;
  std::uint64_t n_dropped = 0;
  std::uint64_t n_errors = 0;
  Duration saved{};                    // encoding that hits made unnecessary
  std::optional<Duration> oldest_use;  // nothing when it is empty
  std::vector<TenantUse> tenants;      // by name
};

struct CacheReport {
  std::vector<TierReport> tiers;  // without those that are not there
};

/// How many entries a purge made unreadable.
struct ForgottenEntries {
  std::size_t n_memory = 0;
  std::size_t n_disk = 0;
};

}  // namespace tessera::cache
