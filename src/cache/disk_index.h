// What lies in the disk tier: which entries, how large, for how long, and which of them was used
// longest ago. Rebuilt from the names, sizes and times of the files when the tier is opened; pure
// data, no I/O.
// @thread one at a time; the tier locks
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cache/cache_report.h"
#include "core/digest.h"

namespace tessera::cache {

/// Names a tenant's folder; says nothing to whoever has not the secret.
using TenantFolder = std::array<std::uint8_t, 16>;

/// "t-" and 32 hexadecimal digits.
std::string folder_path(const TenantFolder& folder);

/// The reverse; nothing for any other name.
std::optional<TenantFolder> parse_folder(std::string_view name);

/// A file of the tier, as its path says it.
struct EntryPlace {
  TenantFolder folder{};
  Digest key;
  std::int64_t expires = 0;  // seconds since 1970; 0 = never

  /// folder/key.expires, in hexadecimal digits.
  std::string path() const;
  friend bool operator==(const EntryPlace&, const EntryPlace&) = default;
};

/// The reverse of path(), of the part behind the folder.
std::optional<EntryPlace> parse_entry(const TenantFolder& folder, std::string_view name);

/// What a file of n_bytes takes: whole blocks, and something for its inode.
std::size_t disk_bytes(std::size_t n_bytes);

/// Entries at most. Each costs about 250 bytes of memory here; with the default budget it is
/// reached by entries below 32 KiB, which are cheap to compute.
inline constexpr std::size_t kDiskEntriesMax = std::size_t{1} << 18U;

class DiskIndex {
 public:
  explicit DiskIndex(std::size_t bytes_max, std::size_t entries_max = kDiskEntriesMax)
      : bytes_max_(bytes_max), entries_max_(entries_max) {}

  /// Null = not there.
  const EntryPlace* find(const Digest& key) const;

  /// The same; it is now the one that was used last.
  /// @param now  here and below, seconds since 1970
  const EntryPlace* use(const Digest& key, std::int64_t now);

  /// Takes out what must go so that a file of n_bytes has room; the ones used longest ago first.
  /// @return  nothing when it is larger than the whole budget: then nothing goes
  std::optional<std::vector<EntryPlace>> make_room(std::size_t n_bytes, std::int64_t now);

  /// As the one that was used last. A key that is there already stays as it is.
  /// @param used  when that was
  void insert(const EntryPlace& place, std::size_t n_bytes, std::int64_t used);

  /// False when this very entry is not there.
  bool erase(const EntryPlace& place);

  /// Takes out what expired at or before `now`.
  std::vector<EntryPlace> take_expired(std::int64_t now);

  std::vector<EntryPlace> take_tenant(const TenantFolder& folder);

  std::size_t size() const { return entries_.size(); }
  std::size_t n_bytes() const { return n_bytes_; }

  /// When the entry was used that was used longest ago; nothing when there is none.
  std::optional<std::int64_t> oldest_use() const;

  /// Of all that make_room() took out: seconds since each was used, together.
  std::int64_t evicted_seconds() const { return evicted_seconds_; }

  /// Walks over all entries.
  std::map<TenantFolder, TenantUse> by_tenant(std::int64_t now) const;

 private:
  struct Entry {
    EntryPlace place;
    std::size_t n_bytes = 0;  // disk_bytes()
    std::int64_t used = 0;
  };
  using Entries = std::list<Entry>;  // used longest ago first

  EntryPlace take(Entries::iterator entry);

  const std::size_t bytes_max_;
  const std::size_t entries_max_;
  Entries entries_;
  std::unordered_map<Digest, Entries::iterator> by_key_;
  std::set<std::pair<std::int64_t, Digest>> expiries_;  // the next first; without those of never
  std::size_t n_bytes_ = 0;
  std::int64_t evicted_seconds_ = 0;
};

}  // namespace tessera::cache
