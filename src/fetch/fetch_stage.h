// The stage before media: requests that name media by URL → requests whose media is here.
//
//   https://…, http://…   the fetcher process; blocks for seconds
//   file:///PATH          the operator's folder
//   tessera-file:ID       what the same tenant uploaded
//
// Everything that a request names ends as a memfd in Request::media, in its order, as if its bytes
// had come in the body; the limits for images there hold here as well. Its threads are its own,
// because a strange web server decides how long they wait: no media thread ever waits for one.
//
// Bounded by its queue, by kTenantRequestsMax requests of one tenant from queue to hand-over, and
// by limits.held_bytes_max over all requests until their media is decoded.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "core/bounded_queue.h"
#include "core/byte_budget.h"
#include "core/clock.h"
#include "core/in_flight.h"
#include "core/tenant_places.h"
#include "fetch/fetcher.h"
#include "fetch/media_root.h"

namespace tessera::fetch {

/// The URL of an upload begins with this; its id follows.
inline constexpr std::string_view kUploadScheme = "tessera-file:";

/// With a fetcher: as many requests as it has fetches, so that none waits for a thread while the
/// fetcher could serve it. They sleep.
inline constexpr int kRemoteThreads = static_cast<int>(wire::kFetchesMax);

/// Without one nothing blocks but a slow disk.
inline constexpr int kLocalThreads = 2;

/// Two of them use up a tenant's fetches. A quarter of the threads, so that four tenants are needed
/// to keep others waiting.
inline constexpr std::size_t kTenantRequestsMax = 8;

/// Where media may come from; what is empty refuses its URLs. All outlive the stage.
struct FetchSources {
  Fetcher* fetcher = nullptr;
  const MediaRoot* root = nullptr;
  /// Any thread. @errors  not_found `upload_not_found`; unavailable
  std::function<Result<EncodedMedia>(TenantId, std::string_view id)> upload;
};

struct FetchStageOptions {
  FetchSources sources;
  std::size_t request_bytes_max = RemoteLimits().request_bytes_max;  // of all URLs together
  Limits limits;                                                     // the operator's
  std::size_t queue_capacity = 0;  // at least as many as may be admitted
};

/// @thread construction and shutdown by the owner; try_submit from any thread
class FetchStage {
 public:
  /// @param next  takes the request on; called on a thread of the stage
  FetchStage(FetchStageOptions options, const Clock& clock,
             std::function<void(std::unique_ptr<InFlight>)> next);
  ~FetchStage() { shutdown(); }

  /// Queues a request with pending media. Leaves it untouched on errors.
  /// @errors  resource_exhausted `tenant_busy` with retry_after; unavailable `shutting_down`
  Result<void> try_submit(std::unique_ptr<InFlight>&& request);

  /// Gives up the fetches that run, ends what is queued with `shutting_down`, joins. Idempotent.
  void shutdown();

  std::size_t queue_depth() const { return queue_.size(); }

 private:
  struct Entry {
    std::unique_ptr<InFlight> request;
    TenantPlaces::Place place;
  };

  void run(const std::stop_token& stop);
  Result<void> serve(InFlight& request, const std::stop_token& stop);
  Result<void> take_local(InFlight& request) const;
  Result<EncodedMedia> read_local(const InFlight& request, std::size_t index) const;
  Result<void> fetch_remote(InFlight& request, const std::stop_token& stop) const;
  Result<std::size_t> check_sizes(const InFlight& request) const;

  const FetchStageOptions options_;
  const Clock& clock_;
  const std::function<void(std::unique_ptr<InFlight>)> next_;
  TenantPlaces places_{kTenantRequestsMax};
  ByteBudget budget_;
  BoundedQueue<Entry> queue_;
  std::vector<std::jthread> threads_;
};

}  // namespace tessera::fetch
