#include "media/quarantine.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tessera::media {
namespace {

Error file_refused(std::size_t index, Error error) {
  error.message = "image " + std::to_string(index + 1) + ": " + error.message;
  return error;
}

/// "… before and is refused for 10 minutes"
std::string refused_text(std::string_view what, std::chrono::minutes time) {
  return "this file " + std::string(what) + " before and is refused for " +
         std::to_string(time.count()) + (time.count() == 1 ? " minute" : " minutes");
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

Result<void> Quarantine::check_tenant(TenantId tenant) {
  MutexLock lock(mutex_);
  const auto found = records_.find(tenant);
  const TimePoint now = clock_.now();
  if (found == records_.end() || found->second.suspended_until <= now) return {};
  return tenant_refused(found->second.suspended_until - now);
}

Result<void> Quarantine::check_file(TenantId tenant, std::size_t index, const Digest& content) {
  MutexLock lock(mutex_);
  const auto found = records_.find(tenant);
  if (found == records_.end()) return {};
  forget(found->second, clock_.now());
  const auto& refused = found->second.files;
  const auto file = std::ranges::find(refused, content, &RefusedFile::content);
  if (file == refused.end()) return {};
  return file_refused(index, file->error);
}

void Quarantine::record_death(TenantId tenant, const Digest& content) {
  MutexLock lock(mutex_);
  const TimePoint now = clock_.now();
  Record& record = current(tenant);
  refuse(record, {content, now + kFileRefused,
                  make_error(ErrorCode::kUnprocessableMedia, "media_decoder_failed",
                             refused_text("stopped the decoder", kFileRefused))});
  record.deaths.push_back(now);
  if (record.deaths.size() < kDeathsMax) return;
  record.deaths.clear();
  record.suspended_until = now + kTenantRefused;
}

void Quarantine::record_timeout(TenantId tenant, const Digest& content) {
  MutexLock lock(mutex_);
  refuse(current(tenant),
         {content, clock_.now() + kSlowFileRefused,
          make_error(ErrorCode::kUnprocessableMedia, "media_decoder_failed",
                     refused_text("took the decoder too long", kSlowFileRefused))});
}

void Quarantine::record_damage(TenantId tenant, const Digest& content, const Error& error) {
  MutexLock lock(mutex_);
  refuse(current(tenant), {content, clock_.now() + kFileRefused,
                           make_error(error.code, error.reason,
                                      refused_text("could not be decoded", kFileRefused))});
}

int Quarantine::n_suspended() const {
  MutexLock lock(mutex_);
  const TimePoint now = clock_.now();
  return static_cast<int>(std::ranges::count_if(
      records_, [now](const auto& entry) { return entry.second.suspended_until > now; }));
}

Quarantine::Record& Quarantine::current(TenantId tenant) {
  Record& record = records_[tenant];
  forget(record, clock_.now());
  return record;
}

void Quarantine::refuse(Record& record, RefusedFile file) {
  if (record.files.size() == kRefusedFilesMax) record.files.erase(record.files.begin());
  record.files.push_back(std::move(file));
}

void Quarantine::forget(Record& record, TimePoint now) {
  std::erase_if(record.files, [now](const RefusedFile& file) { return file.until <= now; });
  std::erase_if(record.deaths, [now](TimePoint death) { return death + kDeathWindow <= now; });
}

}  // namespace tessera::media
