#include "fetch/fetch_stage.h"

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/ascii.h"
#include "core/either_stop.h"
#include "fetch/url_error.h"

namespace tessera::fetch {
namespace {

// A quick web server's answer; most requests here end by then.
constexpr std::chrono::seconds kRetryAfter{2};

Error tenant_busy() {
  Error error = make_error(ErrorCode::kResourceExhausted, "tenant_busy",
                           std::to_string(kTenantRequestsMax) +
                               " requests with this key wait for media that they name by URL, "
                               "which is the limit; try again later");
  error.retry_after = kRetryAfter;
  return error;
}

bool is_remote(const PendingMedia& pending) {
  const std::string_view url = pending.url.unredacted();
  return starts_with_ignoring_case(url, "http:") || starts_with_ignoring_case(url, "https:");
}

bool is_upload(const PendingMedia& pending) {
  return starts_with_ignoring_case(pending.url.unredacted(), kUploadScheme);
}

/// The field in the request at fault.
Error at_field(Error error, const InFlight& request, const PendingMedia& pending) {
  error.param = request.request.media[pending.media_index].field;
  return error;
}

/// Puts a file where its URL stood; the field stays.
void put(EncodedMedia& place, EncodedMedia file) {
  file.field = std::move(place.field);
  place = std::move(file);
}

}  // namespace

FetchStage::FetchStage(FetchStageOptions options, const Clock& clock,
                       std::function<void(std::unique_ptr<InFlight>)> next)
    : options_(std::move(options)),
      clock_(clock),
      next_(std::move(next)),
      budget_(options_.limits),
      queue_(options_.queue_capacity) {
  const int n_threads = options_.sources.fetcher != nullptr ? kRemoteThreads : kLocalThreads;
  for (int i = 0; i < n_threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
    pthread_setname_np(threads_.back().native_handle(), "fetch");
  }
}

Result<void> FetchStage::try_submit(std::unique_ptr<InFlight>&& request) {
  auto place = places_.try_take(request->tenant);
  if (!place) return tenant_busy();
  request->trace.enter(Stage::kFetchWait, clock_.now());
  Entry entry{std::move(request), *std::move(place)};
  if (queue_.try_push(std::move(entry))) return {};
  request = std::move(entry.request);  // NOLINT(bugprone-use-after-move): untouched
  return shutting_down_error();
}

void FetchStage::shutdown() {
  queue_.close();
  for (std::jthread& thread : threads_) thread.request_stop();
  for (std::jthread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  while (auto entry = queue_.try_pop()) entry->request->end(shutting_down_error(), clock_.now());
}

void FetchStage::run(const std::stop_token& stop) {
  while (auto entry = queue_.pop(stop)) {
    std::unique_ptr<InFlight> request = std::move(entry->request);
    const auto served = serve(*request, stop);
    if (served) {
      request->fetch_holds = std::make_shared<TenantPlaces::Place>(std::move(entry->place));
    }
    entry.reset();  // the place is free before anybody learns of the end
    if (served) {
      next_(std::move(request));
    } else {
      request->end(stop.stop_requested() ? shutting_down_error() : served.error(), clock_.now());
    }
  }
}

Result<void> FetchStage::serve(InFlight& request, const std::stop_token& stop) {
  if (auto reason = request.should_stop(clock_.now())) return *std::move(reason);
  request.trace.enter(Stage::kFetch, clock_.now());
  // The most that it may keep is taken from the budget before anything is there. Only a request
  // that names both files and web pages may hold twice as much for a moment. Uploads are in memory
  // already, and counted where they are kept.
  const auto n_new = static_cast<std::size_t>(
      std::ranges::count_if(request.request.pending, [](const auto& p) { return !is_upload(p); }));
  const std::size_t n_bytes_max =
      std::min(n_new * media_bytes_max(request.limits), options_.request_bytes_max);
  auto reservation = budget_.open(request.tenant);
  TSR_RETURN_IF_ERROR(reservation->grow(n_bytes_max));
  // What costs nothing may fail before a connection is made.
  TSR_RETURN_IF_ERROR(take_local(request));
  const EitherStop either(request.stop, stop);
  TSR_RETURN_IF_ERROR(fetch_remote(request, either.token()));
  TSR_ASSIGN_OR_RETURN(const std::size_t n_bytes, check_sizes(request));
  reservation->shrink_to(n_bytes);
  request.media_holds = std::move(reservation);
  request.request.pending.clear();
  return {};
}

Result<void> FetchStage::take_local(InFlight& request) const {
  const std::vector<PendingMedia>& pending = request.request.pending;
  std::size_t n_bytes = 0;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    if (is_remote(pending[i])) continue;
    auto file = read_local(request, i);
    if (!file) return at_field(file.error(), request, pending[i]);
    n_bytes += file->size_bytes;
    if (n_bytes > options_.request_bytes_max) {
      return at_field(media_urls_too_large(options_.request_bytes_max), request, pending[i]);
    }
    put(request.request.media[pending[i].media_index], *std::move(file));
  }
  return {};
}

Result<EncodedMedia> FetchStage::read_local(const InFlight& request, std::size_t index) const {
  const RedactedUrl& url = request.request.pending[index].url;
  const FetchSources& sources = options_.sources;
  if (is_upload(request.request.pending[index])) {
    if (!sources.upload) return media_url_unavailable(index);
    return sources.upload(request.tenant, url.unredacted().substr(kUploadScheme.size()));
  }
  if (sources.root == nullptr) return media_url_unavailable(index);
  return sources.root->read(url, index, media_bytes_max(request.limits));
}

Result<void> FetchStage::fetch_remote(InFlight& request, const std::stop_token& stop) const {
  std::vector<RedactedUrl> urls;
  std::vector<std::size_t> places;
  const PendingMedia* last = nullptr;
  for (const PendingMedia& pending : request.request.pending) {
    if (!is_remote(pending)) continue;
    urls.push_back(pending.url);
    places.push_back(pending.media_index);
    last = &pending;
  }
  if (last == nullptr) return {};
  if (options_.sources.fetcher == nullptr) {
    return at_field(media_url_unavailable(0), request, *last);
  }
  auto fetched = options_.sources.fetcher->fetch(urls, request.tenant, stop);
  if (!fetched) {
    // Of several, the message says which.
    Error error = std::move(fetched).error();
    return urls.size() == 1 ? at_field(std::move(error), request, *last) : std::move(error);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    put(request.request.media[places[i]], std::move((*fetched)[i]));
  }
  return {};
}

/// @return  bytes of what was named by URL and is not an upload
Result<std::size_t> FetchStage::check_sizes(const InFlight& request) const {
  std::size_t n_bytes = 0;
  std::size_t n_new_bytes = 0;
  for (const PendingMedia& pending : request.request.pending) {
    const std::size_t size_bytes = request.request.media[pending.media_index].size_bytes;
    n_bytes += size_bytes;
    if (!is_upload(pending)) n_new_bytes += size_bytes;
    if (size_bytes > media_bytes_max(request.limits)) {
      return at_field(make_error(ErrorCode::kTooLarge, "image_too_large",
                                 "bytes of image " + std::to_string(pending.media_index) + ": " +
                                     std::to_string(size_bytes) + " exceeds the limit of " +
                                     std::to_string(media_bytes_max(request.limits))),
                      request, pending);
    }
    if (n_bytes > options_.request_bytes_max) {
      return at_field(media_urls_too_large(options_.request_bytes_max), request, pending);
    }
  }
  return n_new_bytes;
}

}  // namespace tessera::fetch
