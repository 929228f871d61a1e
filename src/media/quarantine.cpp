#include "media/quarantine.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/check.h"
#include "sandbox/memfd.h"

namespace tessera::media {
namespace {

Error file_refused(std::size_t index) {
  return make_error(ErrorCode::kUnprocessableMedia, "media_decoder_failed",
                    "image " + std::to_string(index + 1) +
                        ": this file stopped the decoder before and is refused for " +
                        std::to_string(kFileRefused.count()) + " minutes");
}

Error tenant_refused(Duration rest) {
  Error error = make_error(ErrorCode::kResourceExhausted, "media_suspended",
                           std::to_string(kDeathsMax) +
                               " files stopped the decoder within a minute; requests with images "
                               "are refused for " +
                               std::to_string(kTenantRefused.count()) + " minutes");
  error.retry_after = std::chrono::ceil<std::chrono::seconds>(rest);
  return error;
}

}  // namespace

Quarantine::Quarantine(const Clock& clock) : clock_(clock) {
  // Without entropy nothing of TLS or of the keys would work either.
  TSR_CHECK(RAND_bytes(key_.data(), static_cast<int>(key_.size())) == 1);
}

Result<void> Quarantine::check(TenantId tenant, std::span<const EncodedMedia> files) {
  std::vector<RefusedFile> refused;
  {
    MutexLock lock(mutex_);
    const auto found = records_.find(tenant);
    if (found == records_.end()) return {};
    const TimePoint now = clock_.now();
    forget(found->second, now);
    if (found->second.suspended_until > now) {
      return tenant_refused(found->second.suspended_until - now);
    }
    refused = found->second.files;
  }
  if (refused.empty()) return {};
  for (std::size_t i = 0; i < files.size(); ++i) {
    Digest digest{};
    if (!digest_of(files[i], digest)) continue;  // the decode session says what is wrong with it
    if (std::ranges::find(refused, digest, &RefusedFile::digest) != refused.end()) {
      return file_refused(i);
    }
  }
  return {};
}

void Quarantine::record_death(TenantId tenant, const EncodedMedia& file) {
  Digest digest{};
  const bool readable = digest_of(file, digest);
  MutexLock lock(mutex_);
  const TimePoint now = clock_.now();
  Record& record = records_[tenant];
  forget(record, now);
  if (readable) {
    if (record.files.size() == kRefusedFilesMax) record.files.erase(record.files.begin());
    record.files.push_back({digest, now + kFileRefused});
  }
  record.deaths.push_back(now);
  if (record.deaths.size() < kDeathsMax) return;
  record.deaths.clear();
  record.suspended_until = now + kTenantRefused;
}

int Quarantine::n_suspended() const {
  MutexLock lock(mutex_);
  const TimePoint now = clock_.now();
  return static_cast<int>(std::ranges::count_if(
      records_, [now](const auto& entry) { return entry.second.suspended_until > now; }));
}

bool Quarantine::digest_of(const EncodedMedia& file, Digest& digest) const {
  const auto mapped = sandbox::MappedRegion::map_readonly(file.fd.get(), file.size_bytes);
  if (!mapped) return false;
  unsigned int size = 0;
  return HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()), mapped->bytes().data(),
              mapped->bytes().size(), digest.data(), &size) != nullptr &&
         size == digest.size();
}

void Quarantine::forget(Record& record, TimePoint now) const {
  std::erase_if(record.files, [now](const RefusedFile& file) { return file.until <= now; });
  std::erase_if(record.deaths, [now](TimePoint death) { return death + kDeathWindow <= now; });
}

}  // namespace tessera::media
