// The thread of the disk tier: everything that changes files while it is open, but for salts that
// are forgotten.
#include <algorithm>
#include <utility>

#include "cache/disk_tier.h"
#include "cache/half_floats.h"

namespace tessera::cache {

void DiskTier::run(const std::stop_token& stop) {
  std::vector<std::string> doomed;
  std::optional<Write> write;
  while (wait_for_work(stop, doomed, write)) {
    Result<void> done;
    for (const std::string& path : doomed) {
      if (done) done = remove(path);
    }
    if (done && write) done = do_write(*write);
    if (!done) turn_off(done.error());
    doomed.clear();
    write.reset();
  }
}

/// False when everything is done and the tier is to stop.
bool DiskTier::wait_for_work(const std::stop_token& stop, std::vector<std::string>& doomed,
                             std::optional<Write>& write) {
  MutexLock lock(mutex_);
  busy_ = false;
  while (writes_.empty() && doomed_.empty()) {
    idle_.notify_all();
    if (!work_.wait(mutex_, stop)) {
      // One more look: what came before the stop is still to be done.
      if (writes_.empty() && doomed_.empty()) return false;
    }
  }
  busy_ = true;
  // Removals first: a file that is written again must not be removed by an earlier order.
  doomed = std::exchange(doomed_, {});
  if (!writes_.empty()) {
    write = std::move(writes_.front());
    writes_.pop_front();
    n_writing_bytes_ -= write->embedding->rows.size() * sizeof(float);
  }
  return true;
}

Result<void> DiskTier::do_write(const Write& write) {
  TSR_ASSIGN_OR_RETURN(const std::optional<SecretKey> key,
                       salts_.make(write.folder, name_of(write.tenant), write.age));
  if (!key) return {};  // forgotten meanwhile
  const Embedding& embedding = *write.embedding;
  const bool as_halves = options_.half && fits_half(embedding.rows);
  const EntryPlace place{write.folder, write.key, write.expires};
  const std::size_t n_bytes = sealed_bytes(embedding, as_halves);
  TSR_ASSIGN_OR_RETURN(const bool has_room, make_room(write.key, n_bytes));
  if (!has_room) return {};
  const std::string path = place.path();
  const std::string folder = path.substr(0, path.find('/'));
  TSR_RETURN_IF_ERROR(files_->put(
      folder, path.substr(folder.size() + 1),
      seal_entry(*key, write.key, embedding, as_halves, write.cost, write.expires), false));
  {
    MutexLock lock(mutex_);
    if (salts_.age(write.folder) == write.age) {
      index_.insert(place, n_bytes, wall_clock_());
      ++stats_.n_written;
      return {};
    }
  }
  return remove(path);  // forgotten meanwhile
}

/// Removes what was used longest ago.
/// @return  false when there can be no room, or the entry is there already
Result<bool> DiskTier::make_room(const Digest& key, std::size_t n_bytes) {
  std::optional<std::vector<EntryPlace>> evicted;
  {
    MutexLock lock(mutex_);
    if (index_.find(key) != nullptr) return false;
    evicted = index_.make_room(n_bytes, wall_clock_());
    if (!evicted) return false;
    stats_.n_evicted += evicted->size();
  }
  for (const EntryPlace& place : *evicted) TSR_RETURN_IF_ERROR(remove(place.path()));
  return true;
}

/// One that is there no more is as good as removed.
Result<void> DiskTier::remove(const std::string& path) {
  auto removed = files_->remove(path);
  if (!removed && removed.error().code != ErrorCode::kNotFound) return removed;
  return {};
}

void DiskTier::flush() {
  MutexLock lock(mutex_);
  while (busy_ || !writes_.empty() || !doomed_.empty()) (void)idle_.wait(mutex_, {});
}

void DiskTier::shutdown() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace tessera::cache
