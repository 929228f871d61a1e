#include "media/vision_room.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/mutex.h"

namespace tessera::media {
namespace {

Error too_large(std::size_t n_bytes, std::size_t limit, const std::string& setting) {
  return make_error(ErrorCode::kTooLarge, "vision_bytes_exceeded",
                    "its images need " + std::to_string(n_bytes) +
                        " bytes of tiles and visual features, " + setting + " is " +
                        std::to_string(limit));
}

}  // namespace

/// Gives its bytes back when it is destroyed.
struct VisionRoom::Hold {
  Hold(std::shared_ptr<Books> books, TenantId tenant, std::size_t n_bytes)
      : books(std::move(books)), tenant(tenant), n_bytes(n_bytes) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold();

  const std::shared_ptr<Books> books;
  const TenantId tenant;
  const std::size_t n_bytes;
};

class VisionRoom::Books : public std::enable_shared_from_this<Books> {
 public:
  Books(const Limits& limits, const Clock& clock, GoOn go_on)
      : bytes_max_(limits.vision_bytes_max),
        tenant_bytes_max_(limits.tenant_vision_bytes_max),
        clock_(clock),
        go_on_(std::move(go_on)) {}

  Result<bool> enter(MediaRequest& taken) {
    const std::size_t n = taken.bytes.all();
    if (n > bytes_max_) return too_large(n, bytes_max_, "limits.vision_bytes_max");
    if (n > tenant_bytes_max_) {
      return too_large(n, tenant_bytes_max_, "limits.tenant_vision_bytes_max");
    }
    const TenantId tenant = taken.request->tenant;
    MutexLock lock(mutex_);
    if (lines_.contains(tenant) || first_line() != lines_.end() || !fits(tenant, n)) {
      lines_[tenant].push_back({std::move(taken), n_places_++});
      return false;
    }
    take(taken);
    return true;
  }

  void give_back(TenantId tenant, std::size_t n) {
    std::vector<MediaRequest> leaving;
    {
      MutexLock lock(mutex_);
      n_bytes_ -= n;
      const auto of_tenant = n_of_tenant_.find(tenant);
      of_tenant->second -= n;
      if (of_tenant->second == 0) n_of_tenant_.erase(of_tenant);
      take_stopped(leaving);
      for (auto line = first_line(); line != lines_.end(); line = first_line()) {
        MediaRequest& first = line->second.front().taken;
        if (!fits(line->first, first.bytes.all())) break;
        take(first);
        leaving.push_back(std::move(first));
        line->second.pop_front();
        if (line->second.empty()) lines_.erase(line);
      }
    }
    for (MediaRequest& taken : leaving) go_on_(std::move(taken));
  }

  std::vector<MediaRequest> close() {
    std::vector<MediaRequest> rest;
    MutexLock lock(mutex_);
    for (auto& [tenant, line] : lines_) {
      for (Waiting& waiting : line) rest.push_back(std::move(waiting.taken));
    }
    lines_.clear();
    return rest;
  }

  std::size_t n_waiting() const {
    MutexLock lock(mutex_);
    std::size_t n = 0;
    for (const auto& [tenant, line] : lines_) n += line.size();
    return n;
  }

  std::size_t n_bytes() const {
    MutexLock lock(mutex_);
    return n_bytes_;
  }

 private:
  struct Waiting {
    MediaRequest taken;
    std::uint64_t place = 0;  // in order of arrival
  };
  using Lines = std::map<TenantId, std::deque<Waiting>>;

  std::size_t n_of(TenantId tenant) const TSR_REQUIRES(mutex_) {
    const auto found = n_of_tenant_.find(tenant);
    return found == n_of_tenant_.end() ? 0 : found->second;
  }

  // Differences, because a sum may overflow: what is held is never above its limit.
  bool has_share(TenantId tenant, std::size_t n) const TSR_REQUIRES(mutex_) {
    return n <= tenant_bytes_max_ - n_of(tenant);
  }
  bool fits(TenantId tenant, std::size_t n) const TSR_REQUIRES(mutex_) {
    return has_share(tenant, n) && n <= bytes_max_ - n_bytes_;
  }

  /// Whose turn it is: of the lines whose first does not wait for its own tenant, the one whose
  /// first came first.
  Lines::iterator first_line() TSR_REQUIRES(mutex_) {
    auto best = lines_.end();
    for (auto line = lines_.begin(); line != lines_.end(); ++line) {
      const Waiting& first = line->second.front();
      if (!has_share(line->first, first.taken.bytes.all())) continue;
      if (best == lines_.end() || first.place < best->second.front().place) best = line;
    }
    return best;
  }

  void take(MediaRequest& taken) TSR_REQUIRES(mutex_) {
    const TenantId tenant = taken.request->tenant;
    const std::size_t n_all = taken.bytes.all();
    if (n_all == 0) return;
    n_bytes_ += n_all;
    n_of_tenant_[tenant] += n_all;
    const auto hold = [&](std::size_t n) -> std::shared_ptr<void> {
      if (n == 0) return nullptr;
      return std::make_shared<Hold>(shared_from_this(), tenant, n);
    };
    taken.request->tile_holds = hold(taken.bytes.tiles);
    taken.request->feature_holds = hold(taken.bytes.features);
  }

  void take_stopped(std::vector<MediaRequest>& leaving) TSR_REQUIRES(mutex_) {
    const TimePoint now = clock_.now();
    for (auto line = lines_.begin(); line != lines_.end();) {
      std::erase_if(line->second, [&](Waiting& waiting) {
        if (!waiting.taken.request->should_stop(now)) return false;
        leaving.push_back(std::move(waiting.taken));
        return true;
      });
      line = line->second.empty() ? lines_.erase(line) : std::next(line);
    }
  }

  const std::size_t bytes_max_;
  const std::size_t tenant_bytes_max_;
  const Clock& clock_;
  const GoOn go_on_;
  mutable Mutex mutex_;
  std::size_t n_bytes_ TSR_GUARDED_BY(mutex_) = 0;
  std::map<TenantId, std::size_t> n_of_tenant_ TSR_GUARDED_BY(mutex_);
  Lines lines_ TSR_GUARDED_BY(mutex_);  // of tenants who wait; ≤ requests that may be admitted
  std::uint64_t n_places_ TSR_GUARDED_BY(mutex_) = 0;
};

VisionRoom::Hold::~Hold() {
  books->give_back(tenant, n_bytes);
}

VisionRoom::VisionRoom(const Limits& limits, const Clock& clock, GoOn go_on)
    : books_(std::make_shared<Books>(limits, clock, std::move(go_on))) {}

VisionRoom::~VisionRoom() = default;

Result<bool> VisionRoom::enter(MediaRequest& taken) {
  return books_->enter(taken);
}

std::vector<MediaRequest> VisionRoom::close() {
  return books_->close();
}

std::size_t VisionRoom::n_waiting() const {
  return books_->n_waiting();
}

std::size_t VisionRoom::n_bytes_held() const {
  return books_->n_bytes();
}

}  // namespace tessera::media
