// Media that a request names by URL → memfds, as if its bytes had come in the body.
//
//   auto fetcher = Fetcher::create({...});
//   auto media = (*fetcher)->fetch(urls, tenant, stop);   // blocks; in the order of the URLs
//
// What the client learns is one error for everything that may go wrong at the far end: whether a
// host exists, is refused, answers, and with what, is the same `media_url_unavailable`, because the
// difference would let a client scan networks that it cannot see. Only after a connection to an
// allowed public host are "too large" and "too slow" errors of their own. (Time still differs; an
// allow-list is what helps against that.)
// @thread fetch from any threads; construction and shutdown by the owner
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/remote_limits.h"
#include "core/request.h"
#include "core/result.h"
#include "fetch/dispatcher.h"
#include "fetch/fetch_rules.h"
#include "fetch/url.h"

namespace tessera::fetch {

/// As many first bytes of a fetched file are shown to FetcherOptions::is_media.
inline constexpr std::size_t kHeadBytes = 32;

struct FetcherOptions {
  DispatcherOptions dispatcher;
  RemoteLimits limits;
  FetchRules rules;  // what the operator allows; nothing by default

  /// Whether a file that begins so is one that media decodes. Set.
  std::function<bool(std::span<const std::byte> head)> is_media;

  /// Each URL's end, for counters; may be empty. Called on the thread of fetch().
  std::function<void(wire::Outcome)> on_outcome;
};

class Fetcher {
 public:
  /// Starts the fetcher process.
  /// @errors  invalid_argument `remote_rules_too_many`, `fetcher_not_found`; unavailable
  static Result<std::unique_ptr<Fetcher>> create(FetcherOptions options);

  /// Fetches all or none; blocks. The first failure ends the others.
  /// @return  sealed memfds, none empty
  /// @errors  too_large `too_many_media_urls`, `media_url_too_large` (one, or all together);
  ///          invalid_argument `media_url_unavailable`; deadline_exceeded `media_url_timeout`;
  ///          unavailable `media_fetcher_unavailable` (a retry may work), `shutting_down`;
  ///          cancelled
  Result<std::vector<EncodedMedia>> fetch(std::span<const RedactedUrl> urls, TenantId tenant,
                                          const std::stop_token& stop);

  /// Ends every fetch with `shutting_down`. Idempotent.
  void shutdown() { dispatcher_->shutdown(); }

  /// For tests: 0 while there is none.
  pid_t fetcher_pid() const { return dispatcher_->fetcher_pid(); }

 private:
  Fetcher(FetcherOptions options, std::unique_ptr<Dispatcher> dispatcher)
      : options_(std::move(options)), dispatcher_(std::move(dispatcher)) {}

  Result<wire::Order> make_order(const RedactedUrl& url, std::size_t index) const;

  const FetcherOptions options_;
  const std::unique_ptr<Dispatcher> dispatcher_;
};

}  // namespace tessera::fetch
