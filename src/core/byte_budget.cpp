#include "core/byte_budget.h"

#include <string>
#include <utility>

namespace tessera {
namespace {

// What is held is mostly given back when an answer is complete.
constexpr std::chrono::seconds kRetryAfter{1};

Error busy(std::string reason, const std::string& whose, std::size_t limit) {
  Error error = make_error(ErrorCode::kResourceExhausted, std::move(reason),
                           "bytes of bodies and media of " + whose + " would exceed the limit of " +
                               std::to_string(limit) + "; try again later");
  error.retry_after = kRetryAfter;
  return error;
}

}  // namespace

Result<void> ByteBudget::Reservation::grow(std::size_t n_bytes) {
  MutexLock lock(books_->mutex);
  const auto found = books_->n_of_tenant.find(tenant_);
  const std::size_t n_of_tenant = found == books_->n_of_tenant.end() ? 0 : found->second;
  // Differences, because a sum may overflow: what is held is never above its limit.
  if (n_bytes > bytes_max_ - books_->n_bytes) {
    return busy("server_busy", "all requests", bytes_max_);
  }
  if (n_bytes > tenant_bytes_max_ - n_of_tenant) {
    return busy("tenant_busy", "requests with this key", tenant_bytes_max_);
  }
  if (n_bytes == 0) return {};
  books_->n_bytes += n_bytes;
  books_->n_of_tenant[tenant_] += n_bytes;
  n_bytes_ += n_bytes;
  return {};
}

void ByteBudget::Reservation::shrink_to(std::size_t n_bytes) {
  if (n_bytes >= n_bytes_) return;
  MutexLock lock(books_->mutex);
  const std::size_t n_less = n_bytes_ - n_bytes;
  books_->n_bytes -= n_less;
  const auto of_tenant = books_->n_of_tenant.find(tenant_);
  of_tenant->second -= n_less;
  if (of_tenant->second == 0) books_->n_of_tenant.erase(of_tenant);
  n_bytes_ = n_bytes;
}

}  // namespace tessera
