// What is remembered of files that took a decoder's time for nothing: those that stopped it, those
// that it did not finish in time, and those that turned out damaged when their pixels were wanted,
// which may take seconds. The file is refused for a while when the same tenant sends it again,
// before a decoder sees it; and a tenant whose files keep stopping decoders loses media for a
// while. Other tenants notice neither.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <vector>

#include "core/clock.h"
#include "core/digest.h"
#include "core/ids.h"
#include "core/mutex.h"
#include "core/result.h"

namespace tessera::media {

/// How long a file stays refused. Long enough for the retries of a client, short enough that a
/// decoder that was killed by a busy machine does not cost its sender the day.
inline constexpr std::chrono::minutes kFileRefused{10};

/// … and one that took too long, which a busy machine may be to blame for: long enough to end a
/// client's retries while the machine is busy.
inline constexpr std::chrono::minutes kSlowFileRefused{1};

/// Files of one tenant that are remembered; the oldest is forgotten first. A tenant reaches
/// kDeathsMax long before.
inline constexpr std::size_t kRefusedFilesMax = 64;

/// Deaths of decoders in kDeathWindow that make a tenant lose media. Valid files cause none.
inline constexpr std::size_t kDeathsMax = 5;
inline constexpr std::chrono::minutes kDeathWindow{1};

/// How long a tenant is without media: it stops 60 decoders an hour at most.
inline constexpr std::chrono::minutes kTenantRefused{5};

/// @thread all methods are thread-safe
class Quarantine {
 public:
  /// @param clock  outlives this object
  explicit Quarantine(const Clock& clock) : clock_(clock) {}

  /// Whether this tenant may send media at all.
  /// @errors  resource_exhausted `media_suspended` with retry_after
  Result<void> check_tenant(TenantId tenant);

  /// Before a file is given to a decoder.
  /// @param index    of the request's files
  /// @param content  a hash of it
  /// @errors  what the file was refused with, or unprocessable_media `media_decoder_failed` when it
  ///          stopped the decoder
  Result<void> check_file(TenantId tenant, std::size_t index, const Digest& content);

  /// A decoder was stopped by the file, or while it had it.
  void record_death(TenantId tenant, const Digest& content);

  /// The decoder did not finish in time. No sign of an attack: nobody is suspended for it.
  void record_timeout(TenantId tenant, const Digest& content);

  /// The file cannot be decoded, by anyone, under any limits.
  void record_damage(TenantId tenant, const Digest& content, const Error& error);

  /// Tenants without media now; a gauge.
  int n_suspended() const;

 private:
  struct RefusedFile {
    Digest content;
    TimePoint until;
    Error error;  // without its message's subject
  };
  /// Bounded by the number of tenants, which is the number of keys.
  struct Record {
    std::vector<RefusedFile> files;  // oldest first
    std::vector<TimePoint> deaths;   // oldest first, ≤ kDeathsMax
    TimePoint suspended_until = TimePoint::min();
  };

  static void forget(Record& record, TimePoint now);
  Record& current(TenantId tenant) TSR_REQUIRES(mutex_);
  static void refuse(Record& record, RefusedFile file);

  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<TenantId, Record> records_ TSR_GUARDED_BY(mutex_);
};

}  // namespace tessera::media
