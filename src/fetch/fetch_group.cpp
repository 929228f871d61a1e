#include "fetch/fetch_group.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "fetch/url_error.h"
#include "sandbox/memfd.h"

namespace tessera::fetch {
namespace {

using wire::Outcome;

constexpr int kInputSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;

Error fetcher_unavailable() {
  Error error = make_error(ErrorCode::kUnavailable, "media_fetcher_unavailable",
                           "the process that fetches media stopped; try again");
  error.retry_after = std::chrono::seconds(1);  // it is started again at once
  return error;
}

Error outcome_error(Outcome outcome, std::size_t index, const RemoteLimits& limits) {
  switch (outcome) {
    case Outcome::kTooLarge:
      return media_url_too_large(index, limits.item_bytes_max);
    case Outcome::kTimeout:
      return make_error(ErrorCode::kDeadlineExceeded, "media_url_timeout",
                        url_name(index) + ": its server did not send it within " +
                            std::to_string(limits.total_timeout.count()) +
                            " ms, or sent it too slowly");
    case Outcome::kBusy:
    case Outcome::kFailed:
      return fetcher_unavailable();
    case Outcome::kFetched:
    case Outcome::kUrlRefused:
    case Outcome::kDomainRefused:
    case Outcome::kAddressRefused:
    case Outcome::kNotResolved:
    case Outcome::kRedirectsTooMany:
    case Outcome::kStatusRefused:
    case Outcome::kHeadersTooLarge:
    case Outcome::kNetworkFailed:
    case Outcome::kNotMedia:
      return media_url_unavailable(index);
  }
  return media_url_unavailable(index);
}

}  // namespace

FetchGroup::FetchGroup(const FetcherOptions& options, Dispatcher& dispatcher, TenantId tenant,
                       std::vector<wire::Order> orders)
    : options_(options), dispatcher_(dispatcher), tenant_(tenant), items_(orders.size()) {
  for (std::size_t i = 0; i < orders.size(); ++i) items_[i].order = orders[i];
}

FetchGroup::~FetchGroup() {
  for (const Item& item : items_) {
    if (item.id) dispatcher_.cancel(*item.id);
  }
}

Result<void> FetchGroup::start_more() {
  const auto at_once = static_cast<std::size_t>(options_.limits.fetches_per_request);
  for (Item& item : items_) {
    if (n_running_ >= at_once) return {};
    if (item.is_done || item.id) continue;
    TSR_ASSIGN_OR_RETURN(const bool started, start(item));
    if (!started) return {};  // no place: wait_beyond() tells when there may be one
  }
  return {};
}

Result<bool> FetchGroup::start(Item& item) {
  const std::size_t n_left = options_.limits.request_bytes_max - n_bytes_;
  if (n_left == 0) return media_urls_too_large(options_.limits.request_bytes_max);
  item.order.bytes_max = std::min(options_.limits.item_bytes_max, n_left);
  TSR_ASSIGN_OR_RETURN(item.output, sandbox::create_memfd("remote", item.order.bytes_max));
  // Pages exist only once written; the seal is what bounds a fetcher gone wrong.
  TSR_RETURN_IF_ERROR(sandbox::add_seals(item.output.get(), F_SEAL_GROW));
  UniqueFd copy(::fcntl(item.output.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return fetcher_unavailable();
  const auto tenant_max = static_cast<std::size_t>(options_.limits.fetches_per_tenant);
  item.id = dispatcher_.try_start(tenant_, tenant_max, item.order, std::move(copy));
  if (!item.id) return false;
  ++n_running_;
  return true;
}

Result<void> FetchGroup::collect() {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!items_[i].id) continue;
    const auto end = dispatcher_.take_end(*items_[i].id);
    if (!end) continue;
    items_[i].id.reset();
    --n_running_;
    TSR_RETURN_IF_ERROR(finish(i, *end));
  }
  return {};
}

Result<void> FetchGroup::finish(std::size_t index, const FetchEnd& end) {
  Item& item = items_[index];
  if (end.kind == FetchEnd::Kind::kShutDown) return shutting_down_error();
  if (end.kind == FetchEnd::Kind::kLost) return fetcher_unavailable();
  // What this one was allowed shrank by what the others brought.
  const bool request_is_full =
      end.outcome == Outcome::kTooLarge && item.order.bytes_max < options_.limits.item_bytes_max;
  if (request_is_full) {
    report(end.outcome);
    return media_urls_too_large(options_.limits.request_bytes_max);
  }
  if (end.outcome != Outcome::kFetched) {
    report(end.outcome);
    return outcome_error(end.outcome, index, options_.limits);
  }
  TSR_ASSIGN_OR_RETURN(item.media, seal(item, index, end.size_bytes));
  n_bytes_ += item.media.size_bytes;
  if (n_bytes_ > options_.limits.request_bytes_max) {
    return media_urls_too_large(options_.limits.request_bytes_max);
  }
  item.is_done = true;
  ++n_done_;
  report(Outcome::kFetched);
  return {};
}

/// Cuts the file to what was said to be written and takes the fetcher's hands off it.
Result<EncodedMedia> FetchGroup::seal(Item& item, std::size_t index, std::size_t size_bytes) const {
  const int fd = item.output.get();
  // Both fail for a fetcher that shrank the file or kept it mapped.
  const bool sealed = ::ftruncate(fd, static_cast<off_t>(size_bytes)) == 0 &&
                      sandbox::add_seals(fd, kInputSeals).has_value();
  const auto size = sandbox::file_size(fd);
  if (!sealed || !size || *size != size_bytes) return fetcher_unavailable();
  std::array<std::byte, kHeadBytes> head{};
  const ssize_t n_read = ::pread(fd, head.data(), head.size(), 0);
  const bool is_media =
      n_read > 0 && options_.is_media(std::span(head).first(static_cast<std::size_t>(n_read)));
  if (!is_media) {
    report(Outcome::kNotMedia);
    return media_url_unavailable(index);
  }
  return EncodedMedia{std::move(item.output), size_bytes};
}

std::vector<EncodedMedia> FetchGroup::take_media() {
  std::vector<EncodedMedia> media;
  for (Item& item : items_) media.push_back(std::move(item.media));
  return media;
}

void FetchGroup::report(Outcome outcome) const {
  if (options_.on_outcome) options_.on_outcome(outcome);
}

}  // namespace tessera::fetch
