#include "fetch/fetcher.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "fetch/fetch_group.h"
#include "fetch/url_error.h"

namespace tessera::fetch {
namespace {

Error cancelled() {
  return make_error(ErrorCode::kCancelled, "cancelled",
                    "the request was cancelled while its media was fetched");
}

}  // namespace

Result<std::unique_ptr<Fetcher>> Fetcher::create(FetcherOptions options) {
  TSR_CHECK(options.is_media != nullptr);
  TSR_ASSIGN_OR_RETURN(const wire::Configure rules, to_wire(options.rules));
  if (::access(options.dispatcher.fetcher_path.c_str(), X_OK) != 0) {
    return make_error(ErrorCode::kInvalidArgument, "fetcher_not_found",
                      "remote media needs the program tessera-fetcher beside the server");
  }
  TSR_ASSIGN_OR_RETURN(auto dispatcher, Dispatcher::create(options.dispatcher, rules));
  return std::unique_ptr<Fetcher>(new Fetcher(std::move(options), std::move(dispatcher)));
}

Result<wire::Order> Fetcher::make_order(const RedactedUrl& url, std::size_t index) const {
  const ParsedUrl parsed = parse_url(url.unredacted(), options_.rules.urls);
  const bool is_allowed = parsed.url && options_.rules.domains.allows(parsed.url->host());
  if (!is_allowed) {
    if (options_.on_outcome) {
      options_.on_outcome(parsed.url ? wire::Outcome::kDomainRefused : wire::Outcome::kUrlRefused);
    }
    return media_url_unavailable(index);
  }
  const RemoteLimits& limits = options_.limits;
  const std::string text = parsed.url->curl_text();
  wire::Order order;
  order.header_bytes_max = static_cast<std::uint32_t>(limits.header_bytes_max);
  order.redirects_max = static_cast<std::uint32_t>(limits.redirects_max);
  order.connect_timeout_ms = static_cast<std::uint32_t>(limits.connect_timeout.count());
  order.total_timeout_ms = static_cast<std::uint32_t>(limits.total_timeout.count());
  order.low_speed_bytes_per_second = static_cast<std::uint32_t>(limits.low_speed_bytes_per_second);
  order.low_speed_seconds = static_cast<std::uint32_t>(limits.low_speed_time.count());
  order.n_url_bytes = static_cast<std::uint32_t>(text.size());
  std::ranges::copy(text, order.url.begin());
  return order;
}

Result<std::vector<EncodedMedia>> Fetcher::fetch(std::span<const RedactedUrl> urls, TenantId tenant,
                                                 const std::stop_token& stop) {
  if (urls.size() > static_cast<std::size_t>(options_.limits.urls_max)) {
    return make_error(ErrorCode::kTooLarge, "too_many_media_urls",
                      std::to_string(urls.size()) + " media URLs exceed " +
                          std::to_string(options_.limits.urls_max) + " in one request");
  }
  // All are checked before the first one costs a connection.
  std::vector<wire::Order> orders;
  for (std::size_t i = 0; i < urls.size(); ++i) {
    TSR_ASSIGN_OR_RETURN(wire::Order order, make_order(urls[i], i));
    orders.push_back(order);
  }
  FetchGroup group(options_, *dispatcher_, tenant, std::move(orders));
  for (;;) {  // each turn needs an event; bounded by the fetches' deadlines and by stop
    if (stop.stop_requested()) return cancelled();
    const std::uint64_t seen = dispatcher_->version();
    TSR_RETURN_IF_ERROR(group.collect());
    if (group.is_done()) return group.take_media();
    TSR_RETURN_IF_ERROR(group.start_more());
    if (!dispatcher_->wait_beyond(seen, stop)) return cancelled();
  }
}

}  // namespace tessera::fetch
