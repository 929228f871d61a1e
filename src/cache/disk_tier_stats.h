// What the disk tier of the feature cache tells about itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/clock.h"

namespace tessera::cache {

/// Counters since the start, and what is there now.
struct DiskTierStats {
  std::uint64_t n_hits = 0;
  std::uint64_t n_misses = 0;
  std::uint64_t n_written = 0;
  std::uint64_t n_dropped = 0;  // not written: too many wait
  std::uint64_t n_evicted = 0;  // for room
  std::uint64_t n_expired = 0;
  std::uint64_t n_forgotten = 0;       // with their tenant
  std::uint64_t n_unreadable = 0;      // cut, changed, of another secret, or gone
  std::uint64_t n_errors = 0;          // of the file system
  Duration saved{};                    // encoding that hits made unnecessary
  Duration evicted_age{};              // of all evicted together, since the last use
  std::optional<Duration> oldest_use;  // since the entry was used that was used longest ago
  std::size_t n_entries = 0;
  std::size_t n_bytes = 0;
  bool on = true;
};

}  // namespace tessera::cache
