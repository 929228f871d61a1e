// What is remembered of files that stopped a decoder process: the file is refused for a while when
// the same tenant sends it again, and a tenant whose files keep doing it loses media for a while.
// Other tenants notice neither.
//
// Files are known by a hash with a key that lives as long as the process, so that nothing here says
// which file it was. A hash is only computed for a tenant who has a file in the list.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/clock.h"
#include "core/ids.h"
#include "core/mutex.h"
#include "core/request.h"
#include "core/result.h"

namespace tessera::media {

/// How long a file stays refused. Long enough for the retries of a client, short enough that a
/// decoder that was killed by a busy machine does not cost its sender the day.
inline constexpr std::chrono::minutes kFileRefused{10};

/// Files of one tenant that are remembered; the oldest is forgotten first. A tenant reaches
/// kDeathsMax long before.
inline constexpr std::size_t kRefusedFilesMax = 64;

/// Deaths of decoders in kDeathWindow that make a tenant lose media. Valid files cause none.
inline constexpr std::size_t kDeathsMax = 5;
inline constexpr std::chrono::minutes kDeathWindow{1};

/// How long a tenant is without media: it stops 60 decoders an hour at most.
inline constexpr std::chrono::minutes kTenantRefused{5};

/// @thread all methods are thread-safe; a check hashes outside the lock
class Quarantine {
 public:
  /// @param clock  outlives this object
  explicit Quarantine(const Clock& clock);

  /// Before a request's files are given to a decoder.
  /// @errors  resource_exhausted `media_suspended` with retry_after;
  ///          unprocessable_media `media_decoder_failed` (one of the files is remembered)
  Result<void> check(TenantId tenant, std::span<const EncodedMedia> files);

  /// A decoder was stopped by `file`, or while it had it. A file that cannot be read counts against
  /// its tenant and is not remembered.
  void record_death(TenantId tenant, const EncodedMedia& file);

  /// Tenants without media now; a gauge.
  int n_suspended() const;

 private:
  using Digest = std::array<std::uint8_t, 32>;
  struct RefusedFile {
    Digest digest{};
    TimePoint until;
  };
  /// Bounded by the number of tenants, which is the number of keys.
  struct Record {
    std::vector<RefusedFile> files;  // oldest first
    std::vector<TimePoint> deaths;   // oldest first, ≤ kDeathsMax
    TimePoint suspended_until = TimePoint::min();
  };

  /// Hash of the file with our key; nothing when it cannot be read.
  bool digest_of(const EncodedMedia& file, Digest& digest) const;
  void forget(Record& record, TimePoint now) const TSR_REQUIRES(mutex_);

  const Clock& clock_;
  std::array<std::uint8_t, 32> key_{};
  mutable Mutex mutex_;
  std::map<TenantId, Record> records_ TSR_GUARDED_BY(mutex_);
};

}  // namespace tessera::media
