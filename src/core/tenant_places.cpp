#include "core/tenant_places.h"

namespace tessera {

TenantPlaces::Place& TenantPlaces::Place::operator=(Place&& other) noexcept {
  // What this place held is given back when `other` is destroyed.
  std::swap(counts_, other.counts_);
  std::swap(tenant_, other.tenant_);
  return *this;
}

TenantPlaces::Place::~Place() {
  if (counts_ == nullptr) return;
  MutexLock lock(counts_->mutex);
  const auto of_tenant = counts_->n_of_tenant.find(tenant_);
  if (--of_tenant->second == 0) counts_->n_of_tenant.erase(of_tenant);
}

std::optional<TenantPlaces::Place> TenantPlaces::try_take(TenantId tenant) {
  MutexLock lock(counts_->mutex);
  const auto of_tenant = counts_->n_of_tenant.find(tenant);
  const std::size_t n_taken = of_tenant == counts_->n_of_tenant.end() ? 0 : of_tenant->second;
  if (n_taken >= places_max_) return std::nullopt;
  ++counts_->n_of_tenant[tenant];
  return Place(counts_, tenant);
}

}  // namespace tessera
