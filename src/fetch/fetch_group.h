// The fetches of one request on their way: starts as many as may run at once, collects what ended,
// and forgets the rest when it goes away, so that no path out of a request leaves a fetch running.
// @thread one
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/request.h"
#include "core/result.h"
#include "fetch/fetcher.h"

namespace tessera::fetch {

class FetchGroup {
 public:
  /// @param options, dispatcher  outlive the group
  FetchGroup(const FetcherOptions& options, Dispatcher& dispatcher, TenantId tenant,
             std::vector<wire::Order> orders);
  FetchGroup(const FetchGroup&) = delete;
  FetchGroup& operator=(const FetchGroup&) = delete;
  ~FetchGroup();

  /// @errors  too_large (no bytes left for another one); unavailable (no descriptor left)
  Result<void> start_more();

  /// @errors  those of Fetcher::fetch
  Result<void> collect();

  bool is_done() const { return n_done_ == items_.size(); }

  /// Once, when done.
  std::vector<EncodedMedia> take_media();

 private:
  struct Item {
    wire::Order order;
    UniqueFd output;            // from its start on
    std::optional<FetchId> id;  // while it runs
    bool is_done = false;
    EncodedMedia media;  // when done
  };

  Result<bool> start(Item& item);
  Result<void> finish(std::size_t index, const FetchEnd& end);
  Result<EncodedMedia> seal(Item& item, std::size_t index, std::size_t size_bytes) const;
  void report(wire::Outcome outcome) const;

  const FetcherOptions& options_;
  Dispatcher& dispatcher_;
  const TenantId tenant_;
  std::vector<Item> items_;
  std::size_t n_running_ = 0;
  std::size_t n_done_ = 0;
  std::size_t n_bytes_ = 0;  // of what is done
};

}  // namespace tessera::fetch
