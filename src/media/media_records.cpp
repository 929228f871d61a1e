#include "media/media_records.h"

namespace tessera::media {

std::optional<wire::ProbeReply> MediaRecords::find(TenantId tenant, const Digest& content,
                                                   int n_frames_wanted) {
  MutexLock lock(mutex_);
  const auto found = records_.find({tenant, content, n_frames_wanted});
  if (found == records_.end()) return std::nullopt;
  uses_.splice(uses_.begin(), uses_, found->second.use);
  return found->second.reply;
}

void MediaRecords::store(TenantId tenant, const Digest& content, int n_frames_wanted,
                         const wire::ProbeReply& reply) {
  const Key key{tenant, content, n_frames_wanted};
  MutexLock lock(mutex_);
  if (records_.contains(key)) return;
  if (records_.size() >= n_max_) {
    records_.erase(uses_.back());
    uses_.pop_back();
  }
  uses_.push_front(key);
  records_.emplace(key, Record{reply, uses_.begin()});
}

void MediaRecords::forget(TenantId tenant) {
  MutexLock lock(mutex_);
  for (auto use = uses_.begin(); use != uses_.end();) {
    const auto next = std::next(use);
    if (std::get<TenantId>(*use) == tenant) {
      records_.erase(*use);
      uses_.erase(use);
    }
    use = next;
  }
}

}  // namespace tessera::media
