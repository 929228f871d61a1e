#include "uploads/upload_store.h"

#include <fcntl.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

namespace tessera::uploads {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;

constexpr std::size_t kRandomBytes = 16;

/// Nothing when the system has no randomness, which it does not say after its start.
std::optional<std::string> make_id() {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::array<std::uint8_t, kRandomBytes> random{};
  ssize_t n = -1;
  do n = ::getrandom(random.data(), random.size(), 0);
  while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(random.size())) return std::nullopt;
  std::string id(kIdPrefix);
  for (const std::uint8_t byte : random) {
    id += kHex[byte >> 4U];
    id += kHex[byte & 0xFU];
  }
  return id;
}

Error not_found() {
  return make_error(ErrorCode::kNotFound, "upload_not_found",
                    "no such uploaded file, or its time is over");
}

Error exhausted(std::string message, seconds retry_after) {
  Error error =
      make_error(ErrorCode::kResourceExhausted, "upload_space_exhausted", std::move(message));
  error.retry_after = retry_after;
  return error;
}

Error no_resources(const char* what) {
  return make_error(ErrorCode::kUnavailable, "upload_failed",
                    std::string("the file cannot be kept now: ") + what);
}

}  // namespace

Result<UploadInfo> UploadStore::add(TenantId tenant, EncodedMedia media) {
  if (media.size_bytes > limits_.file_bytes_max) {
    return make_error(
        ErrorCode::kTooLarge, "upload_too_large",
        "the file has more than " + std::to_string(limits_.file_bytes_max) + " bytes");
  }
  auto id = make_id();
  if (!id) return no_resources("no random numbers");
  const TimePoint now = clock_.now();
  Files taken;  // closed after the lock is gone
  MutexLock lock(mutex_);
  take_expired(now, kExpiredPerCallMax, taken);
  auto room = check_room(tenant, media.size_bytes);
  if (!room) {
    take_expired(now, files_.size(), taken);
    room = check_room(tenant, media.size_bytes);
  }
  if (!room) return std::move(room).error();
  const std::size_t size_bytes = media.size_bytes;
  files_.push_back({*id, tenant, std::move(media), now});
  by_id_.emplace(std::move(*id), std::prev(files_.end()));
  Usage& usage = usage_[tenant];
  usage.n_bytes += size_bytes;
  ++usage.n_files;
  total_bytes_ += size_bytes;
  return info_of(files_.back(), now);
}

Result<EncodedMedia> UploadStore::get(TenantId tenant, std::string_view id) {
  const TimePoint now = clock_.now();
  Files taken;
  MutexLock lock(mutex_);
  take_expired(now, kExpiredPerCallMax, taken);
  TSR_ASSIGN_OR_RETURN(const auto at, look_up(tenant, id, now));
  UniqueFd copy(::fcntl(at->media.fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return no_resources("no descriptor left");
  return EncodedMedia{std::move(copy), at->media.size_bytes};
}

Result<UploadInfo> UploadStore::find(TenantId tenant, std::string_view id) {
  const TimePoint now = clock_.now();
  MutexLock lock(mutex_);
  TSR_ASSIGN_OR_RETURN(const auto at, look_up(tenant, id, now));
  return info_of(*at, now);
}

Result<void> UploadStore::remove(TenantId tenant, std::string_view id) {
  const TimePoint now = clock_.now();
  Files taken;
  MutexLock lock(mutex_);
  take_expired(now, kExpiredPerCallMax, taken);
  TSR_ASSIGN_OR_RETURN(const auto at, look_up(tenant, id, now));
  take(at, taken);
  return {};
}

std::vector<UploadInfo> UploadStore::list(TenantId tenant) {
  const TimePoint now = clock_.now();
  Files taken;
  MutexLock lock(mutex_);
  take_expired(now, kExpiredPerCallMax, taken);
  std::vector<UploadInfo> infos;
  for (const File& file : files_) {
    if (file.tenant == tenant && !is_expired(file, now)) infos.push_back(info_of(file, now));
  }
  return infos;
}

std::size_t UploadStore::total_bytes() const {
  MutexLock lock(mutex_);
  return total_bytes_;
}

bool UploadStore::is_expired(const File& file, TimePoint now) const {
  return now - file.added >= limits_.time_to_live;
}

UploadInfo UploadStore::info_of(const File& file, TimePoint now) const {
  return {file.id, file.media.size_bytes,
          duration_cast<seconds>(limits_.time_to_live - (now - file.added)),
          duration_cast<seconds>(limits_.time_to_live)};
}

Result<UploadStore::Files::iterator> UploadStore::look_up(TenantId tenant, std::string_view id,
                                                          TimePoint now) {
  const auto found = by_id_.find(std::string(id));
  const bool is_theirs =
      found != by_id_.end() && found->second->tenant == tenant && !is_expired(*found->second, now);
  if (!is_theirs) return not_found();
  return found->second;
}

Result<void> UploadStore::check_room(TenantId tenant, std::size_t size_bytes) const {
  const auto found = usage_.find(tenant);
  const Usage usage = found != usage_.end() ? found->second : Usage{};
  if (usage.n_files >= static_cast<std::size_t>(limits_.tenant_files_max) ||
      size_bytes > limits_.tenant_bytes_max - usage.n_bytes) {
    return exhausted("uploaded files exceed " + std::to_string(limits_.tenant_files_max) +
                         " files or " + std::to_string(limits_.tenant_bytes_max) +
                         " bytes: remove one, or wait until one expires",
                     seconds(0));
  }
  if (files_.size() >= static_cast<std::size_t>(limits_.total_files_max) ||
      size_bytes > limits_.total_bytes_max - total_bytes_) {
    return exhausted("the server has no room for another file now; try again later", seconds(10));
  }
  return {};
}

void UploadStore::take(Files::iterator at, Files& taken) {
  const auto usage = usage_.find(at->tenant);
  usage->second.n_bytes -= at->media.size_bytes;
  if (--usage->second.n_files == 0) usage_.erase(usage);
  total_bytes_ -= at->media.size_bytes;
  by_id_.erase(at->id);
  taken.splice(taken.end(), files_, at);
}

void UploadStore::take_expired(TimePoint now, std::size_t n_max, Files& taken) {
  for (std::size_t i = 0; i < n_max && !files_.empty(); ++i) {
    if (!is_expired(files_.front(), now)) return;
    take(files_.begin(), taken);
  }
}

}  // namespace tessera::uploads
