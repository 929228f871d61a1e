#include "cache/disk_index.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <span>

namespace tessera::cache {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::string_view kFolderPrefix = "t-";

/// Of the file systems that people have; others only make the budget less exact.
constexpr std::size_t kBlockBytes = 4096;
constexpr std::size_t kInodeBytes = 512;

std::string hexadecimal(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xFU];
  }
  return text;
}

bool parse_hexadecimal(std::string_view text, std::span<std::uint8_t> bytes) {
  if (text.size() != 2 * bytes.size()) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t high = kDigits.find(text[2 * i]);
    const std::size_t low = kDigits.find(text[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    bytes[i] = static_cast<std::uint8_t>(high << 4U | low);
  }
  return true;
}

}  // namespace

std::string folder_path(const TenantFolder& folder) {
  return std::string(kFolderPrefix) + hexadecimal(folder);
}

std::optional<TenantFolder> parse_folder(std::string_view name) {
  TenantFolder folder{};
  if (!name.starts_with(kFolderPrefix)) return std::nullopt;
  if (!parse_hexadecimal(name.substr(kFolderPrefix.size()), folder)) return std::nullopt;
  return folder;
}

std::string EntryPlace::path() const {
  std::array<char, 17> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), expires, 16).ptr;
  return folder_path(folder) + "/" + hexadecimal(key.bytes) + "." + std::string(digits.data(), end);
}

std::optional<EntryPlace> parse_entry(const TenantFolder& folder, std::string_view name) {
  EntryPlace place;
  place.folder = folder;
  const std::size_t dot = std::min(name.find('.'), name.size());
  if (!parse_hexadecimal(name.substr(0, dot), place.key.bytes)) return std::nullopt;
  const std::string_view digits = name.substr(std::min(dot + 1, name.size()));
  const auto parsed =
      std::from_chars(digits.data(), digits.data() + digits.size(), place.expires, 16);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
  if (!whole || place.expires < 0) return std::nullopt;
  // One name for each place: no leading zeros, no capitals.
  if (place.path() != folder_path(folder) + "/" + std::string(name)) return std::nullopt;
  return place;
}

std::size_t disk_bytes(std::size_t n_bytes) {
  return (n_bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes + kInodeBytes;
}

const EntryPlace* DiskIndex::find(const Digest& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &found->second->place;
}

const EntryPlace* DiskIndex::use(const Digest& key, std::int64_t now) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.end(), entries_, found->second);
  found->second->used = now;
  return &found->second->place;
}

std::optional<std::vector<EntryPlace>> DiskIndex::make_room(std::size_t n_bytes, std::int64_t now) {
  const std::size_t needed = disk_bytes(n_bytes);
  if (needed > bytes_max_) return std::nullopt;
  std::vector<EntryPlace> gone;
  while (!entries_.empty() && (n_bytes_ + needed > bytes_max_ || entries_.size() >= entries_max_)) {
    // A clock that was set back makes nothing younger than new.
    evicted_seconds_ += std::max<std::int64_t>(now - entries_.front().used, 0);
    gone.push_back(take(entries_.begin()));
  }
  return gone;
}

void DiskIndex::insert(const EntryPlace& place, std::size_t n_bytes, std::int64_t used) {
  if (by_key_.contains(place.key)) return;
  entries_.push_back({place, disk_bytes(n_bytes), used});
  by_key_.emplace(place.key, std::prev(entries_.end()));
  if (place.expires != 0) expiries_.insert({place.expires, place.key});
  n_bytes_ += disk_bytes(n_bytes);
}

bool DiskIndex::erase(const EntryPlace& place) {
  const auto found = by_key_.find(place.key);
  if (found == by_key_.end() || found->second->place != place) return false;
  take(found->second);
  return true;
}

std::vector<EntryPlace> DiskIndex::take_expired(std::int64_t now) {
  std::vector<EntryPlace> gone;
  while (!expiries_.empty() && expiries_.begin()->first <= now) {
    gone.push_back(take(by_key_.at(expiries_.begin()->second)));
  }
  return gone;
}

std::vector<EntryPlace> DiskIndex::take_tenant(const TenantFolder& folder) {
  std::vector<EntryPlace> gone;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->place.folder == folder) gone.push_back(take(entry));
    entry = next;
  }
  return gone;
}

std::optional<std::int64_t> DiskIndex::oldest_use() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.front().used;
}

std::map<TenantFolder, TenantUse> DiskIndex::by_tenant(std::int64_t now) const {
  std::map<TenantFolder, TenantUse> all;
  for (const Entry& entry : entries_) {
    const auto idle = std::chrono::seconds(std::max<std::int64_t>(now - entry.used, 0));
    all[entry.place.folder].add(entry.n_bytes, idle);
  }
  return all;
}

EntryPlace DiskIndex::take(Entries::iterator entry) {
  EntryPlace place = entry->place;
  n_bytes_ -= entry->n_bytes;
  by_key_.erase(place.key);
  if (place.expires != 0) expiries_.erase({place.expires, place.key});
  entries_.erase(entry);
  return place;
}

}  // namespace tessera::cache
