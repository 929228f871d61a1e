// Bytes of bodies and media that requests may hold in memory: together, and of one tenant, so that
// no key takes the room of the others.
// @thread all methods are thread-safe; a Reservation is owned by one thread at a time
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "core/ids.h"
#include "core/limits.h"
#include "core/mutex.h"
#include "core/result.h"

namespace tessera {

class ByteBudget {
 private:
  struct Books {
    Mutex mutex;
    std::size_t n_bytes TSR_GUARDED_BY(mutex) = 0;
    std::map<TenantId, std::size_t> n_of_tenant TSR_GUARDED_BY(mutex);  // without zeros
  };

 public:
  /// Gives its bytes back when it is destroyed. May outlive the budget.
  class Reservation {
   public:
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    ~Reservation() { shrink_to(0); }

    /// All of them or none.
    /// @errors  resource_exhausted with retry_after: `server_busy` at limits.held_bytes_max,
    ///          `tenant_busy` at limits.tenant_held_bytes_max
    Result<void> grow(std::size_t n_bytes);

    /// Keeps n_bytes of them, if there are more.
    void shrink_to(std::size_t n_bytes);

   private:
    friend class ByteBudget;
    Reservation(const ByteBudget& budget, TenantId tenant)
        : bytes_max_(budget.bytes_max_),
          tenant_bytes_max_(budget.tenant_bytes_max_),
          books_(budget.books_),
          tenant_(tenant) {}

    const std::size_t bytes_max_;
    const std::size_t tenant_bytes_max_;
    const std::shared_ptr<Books> books_;
    const TenantId tenant_;
    std::size_t n_bytes_ = 0;
  };

  explicit ByteBudget(const Limits& limits)
      : bytes_max_(limits.held_bytes_max), tenant_bytes_max_(limits.tenant_held_bytes_max) {}

  /// Of nothing yet.
  std::shared_ptr<Reservation> open(TenantId tenant) const {
    return std::shared_ptr<Reservation>(new Reservation(*this, tenant));
  }

 private:
  const std::size_t bytes_max_;
  const std::size_t tenant_bytes_max_;
  const std::shared_ptr<Books> books_ = std::make_shared<Books>();
};

}  // namespace tessera
