// What files turned out to be, so that the second request for the same bytes needs no decoder:
// format, size, scans and frames, by tenant and content. What a record says is checked against the
// limits of each request that it serves, as a decoder's reply is.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <tuple>

#include "core/digest.h"
#include "core/ids.h"
#include "core/mutex.h"
#include "core/request.h"
#include "media/wire.h"

namespace tessera::media {

/// Files that are remembered, over all tenants; the one that was used longest ago is forgotten
/// first. 200 bytes each: 3 MB.
inline constexpr std::size_t kRecordsMax = 16'384;

/// @thread all methods are thread-safe
class MediaRecords {
 public:
  explicit MediaRecords(std::size_t n_max = kRecordsMax) : n_max_(n_max) {}

  /// What a decoder said of these bytes when as many frames were wanted, which it may depend on.
  std::optional<wire::ProbeReply> find(TenantId tenant, const Digest& content, int n_frames_wanted);

  /// Keeps a sound reply.
  void store(TenantId tenant, const Digest& content, int n_frames_wanted,
             const wire::ProbeReply& reply);

  void forget(TenantId tenant);

 private:
  using Key = std::tuple<TenantId, Digest, int>;
  struct Record {
    wire::ProbeReply reply;
    std::list<Key>::iterator use;
  };

  const std::size_t n_max_;
  Mutex mutex_;
  std::list<Key> uses_ TSR_GUARDED_BY(mutex_);  // the latest first
  std::map<Key, Record> records_ TSR_GUARDED_BY(mutex_);
};

}  // namespace tessera::media
