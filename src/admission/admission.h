// The ceilings of one server: how many requests at once, and how much one request may ask for.
// Above them a request is refused with the value and the limit, before any work is done for it.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "core/ids.h"
#include "core/limits.h"
#include "core/request.h"
#include "core/result.h"
#include "core/tenant_places.h"

namespace tessera::admission {

/// Counts admitted requests, in all and of each tenant.
/// @thread all methods are thread-safe
class Admission {
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
    Ticket(std::shared_ptr<std::atomic<int>> count, TenantPlaces::Place place)
        : count_(std::move(count)), place_(std::move(place)) {}
    std::shared_ptr<std::atomic<int>> count_;  // null once moved from
    TenantPlaces::Place place_;
  };

  explicit Admission(const Limits& limits);

  /// @errors  resource_exhausted with retry_after: server_busy at limits.requests_max, tenant_busy
  ///          at limits.tenant_requests_max
  Result<Ticket> admit(TenantId tenant);

  int n_admitted() const { return count_->load(std::memory_order_relaxed); }

 private:
  const int requests_max_;
  const int tenant_requests_max_;
  TenantPlaces tenants_;
  const std::shared_ptr<std::atomic<int>> count_;
};

/// Compares what a request asks for with the operator's limits. A request may lower a limit, never
/// raise it.
/// @errors  invalid_argument, too_large; `param` is the field in the words of the HTTP API
Result<void> check_request(const Request& request, const Limits& limits);

}  // namespace tessera::admission
