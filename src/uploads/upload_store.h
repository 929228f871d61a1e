// Files that clients upload once and name in later requests, in memory, until their time is over.
//
// Ids are 128 random bits and belong to a tenant: another tenant's id is as unknown as one that
// never existed. All files live equally long, so that their order of arrival is the order in which
// they expire: every call takes what expired from the front. An expired file is never handed out,
// whether it has been taken away yet or not.
// @thread all methods are thread-safe
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/clock.h"
#include "core/ids.h"
#include "core/mutex.h"
#include "core/request.h"
#include "core/result.h"
#include "core/upload_limits.h"

namespace tessera::uploads {

/// Ids begin with this, so that nobody takes one for something else.
inline constexpr std::string_view kIdPrefix = "tessera-file-";

/// Expired files that one call takes away: closing one frees up to file_bytes_max of memory, which
/// takes time, and no request should pay for all of them.
inline constexpr std::size_t kExpiredPerCallMax = 16;

struct UploadInfo {
  std::string id;
  std::size_t size_bytes = 0;
  std::chrono::seconds expires_in{0};
  std::chrono::seconds time_to_live{0};  // from the upload to the end
};

class UploadStore {
 public:
  /// @param clock  outlives the store
  UploadStore(const UploadLimits& limits, const Clock& clock) : limits_(limits), clock_(clock) {}

  /// @param media  sealed, not empty
  /// @errors  too_large `upload_too_large`; resource_exhausted `upload_space_exhausted` (the
  ///          tenant's or the server's; what expires or is removed gives it back); unavailable
  Result<UploadInfo> add(TenantId tenant, EncodedMedia media);

  /// Another descriptor of the same memory; it stays valid when the file expires.
  /// @errors  not_found `upload_not_found`; unavailable (no descriptor left)
  Result<EncodedMedia> get(TenantId tenant, std::string_view id);

  /// @errors  not_found `upload_not_found`
  Result<UploadInfo> find(TenantId tenant, std::string_view id);

  /// @errors  not_found `upload_not_found`
  Result<void> remove(TenantId tenant, std::string_view id);

  /// The tenant's files, oldest first; ≤ tenant_files_max.
  std::vector<UploadInfo> list(TenantId tenant);

  /// Of one file; for whoever reads it from a socket.
  std::size_t file_bytes_max() const { return limits_.file_bytes_max; }

  /// Of all tenants, expired ones that are still there included; for metrics.
  std::size_t total_bytes() const;

 private:
  struct File {
    std::string id;
    TenantId tenant;
    EncodedMedia media;
    TimePoint added;
  };
  using Files = std::list<File>;
  struct Usage {
    std::size_t n_bytes = 0;
    std::size_t n_files = 0;
  };

  bool is_expired(const File& file, TimePoint now) const;
  UploadInfo info_of(const File& file, TimePoint now) const;
  Result<Files::iterator> look_up(TenantId tenant, std::string_view id, TimePoint now)
      TSR_REQUIRES(mutex_);
  Result<void> check_room(TenantId tenant, std::size_t size_bytes) const TSR_REQUIRES(mutex_);
  void take(Files::iterator at, Files& taken) TSR_REQUIRES(mutex_);
  void take_expired(TimePoint now, std::size_t n_max, Files& taken) TSR_REQUIRES(mutex_);

  const UploadLimits limits_;
  const Clock& clock_;
  mutable Mutex mutex_;
  Files files_ TSR_GUARDED_BY(mutex_);  // oldest first
  std::unordered_map<std::string, Files::iterator> by_id_ TSR_GUARDED_BY(mutex_);
  std::unordered_map<TenantId, Usage> usage_ TSR_GUARDED_BY(mutex_);  // of tenants with files
  std::size_t total_bytes_ TSR_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera::uploads
