// How many requests of each tenant are in one part of the server, up to a number.
// @thread all methods are thread-safe; a Place is owned by one thread at a time
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "core/ids.h"
#include "core/mutex.h"

namespace tessera {

class TenantPlaces {
 private:
  struct Counts {
    Mutex mutex;
    std::map<TenantId, std::size_t> n_of_tenant TSR_GUARDED_BY(mutex);  // without zeros
  };

 public:
  /// Gives the place back when it is destroyed. May outlive the TenantPlaces.
  class Place {
   public:
    Place(Place&&) = default;
    Place& operator=(Place&& other) noexcept;
    ~Place();

   private:
    friend class TenantPlaces;
    Place(std::shared_ptr<Counts> counts, TenantId tenant)
        : counts_(std::move(counts)), tenant_(tenant) {}
    std::shared_ptr<Counts> counts_;  // null once moved from
    TenantId tenant_;
  };

  /// @param places_max  of each tenant
  explicit TenantPlaces(std::size_t places_max)
      : places_max_(places_max), counts_(std::make_shared<Counts>()) {}

  /// Nothing when the tenant has as many as it may.
  std::optional<Place> try_take(TenantId tenant);

 private:
  const std::size_t places_max_;
  const std::shared_ptr<Counts> counts_;
};

}  // namespace tessera
