// The ceilings of one server: how many requests at once, and how much one request may ask for.
// Above them a request is refused with the value and the limit, before any work is done for it: the
// newest is, because the others have waited. It is told when a place will be free, by how long
// requests took lately.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "core/clock.h"
#include "core/ids.h"
#include "core/limits.h"
#include "core/mutex.h"
#include "core/request.h"
#include "core/result.h"
#include "core/tenant_places.h"

namespace tessera::admission {

/// Counts admitted requests, in all and of each tenant.
/// @thread all methods are thread-safe
class Admission {
 private:
  struct Books {
    Mutex mutex;
    int n_admitted TSR_GUARDED_BY(mutex) = 0;
    /// From admission to the end, mean of the last few; nothing before the first has ended.
    std::optional<Duration> time TSR_GUARDED_BY(mutex);
  };

 public:
  /// The place of one admitted request; its destruction makes room for the next one. May outlive
  /// the Admission.
  class Ticket {
   public:
    Ticket(Ticket&&) = default;
    Ticket& operator=(Ticket&& other) noexcept;
    ~Ticket();

   private:
    friend class Admission;
    Ticket(std::shared_ptr<Books> books, TenantPlaces::Place place, const Clock& clock)
        : books_(std::move(books)), place_(std::move(place)), clock_(&clock), begin_(clock.now()) {}
    std::shared_ptr<Books> books_;  // null once moved from
    TenantPlaces::Place place_;
    const Clock* clock_;
    TimePoint begin_;
  };

  /// @param clock  outlives it and its tickets
  Admission(const Limits& limits, const Clock& clock);

  /// @errors  resource_exhausted with retry_after: server_busy at limits.requests_max, tenant_busy
  ///          at limits.tenant_requests_max
  Result<Ticket> admit(TenantId tenant);

  int n_admitted() const;

 private:
  std::chrono::seconds time_to_a_place(int n_taken) const TSR_REQUIRES(books_->mutex);

  const int requests_max_;
  const int tenant_requests_max_;
  const Clock& clock_;
  TenantPlaces tenants_;
  const std::shared_ptr<Books> books_;
};

/// Compares what a request asks for with the operator's limits. A request may lower a limit, never
/// raise it.
/// @errors  invalid_argument, too_large; `param` is the field in the words of the HTTP API
Result<void> check_request(const Request& request, const Limits& limits);

}  // namespace tessera::admission
