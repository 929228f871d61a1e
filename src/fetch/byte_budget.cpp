#include "fetch/byte_budget.h"

namespace tessera::fetch {

void ByteBudget::Reservation::shrink_to(std::size_t n_bytes) {
  if (n_bytes >= n_bytes_) return;
  *left_ += n_bytes_ - n_bytes;
  n_bytes_ = n_bytes;
}

std::shared_ptr<ByteBudget::Reservation> ByteBudget::try_reserve(std::size_t n_bytes) {
  std::size_t left = left_->load();
  do {  // ends when nobody else reserved in between
    if (left < n_bytes) return nullptr;
  } while (!left_->compare_exchange_weak(left, left - n_bytes));
  return std::make_shared<Reservation>(left_, n_bytes);
}

}  // namespace tessera::fetch
