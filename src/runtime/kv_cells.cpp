#include "runtime/kv_cells.h"

#include "core/check.h"

namespace tessera::runtime {

void KvCells::add(SequenceId sequence) {
  ++n_used_;
  if (free_.empty()) {
    cells_of(sequence).push_back(static_cast<int>(n_users_.size()));
    n_users_.push_back(1);
    return;
  }
  const int cell = free_.back();
  free_.pop_back();
  n_users_[static_cast<std::size_t>(cell)] = 1;
  cells_of(sequence).push_back(cell);
}

void KvCells::share(SequenceId from, SequenceId to, const KvRange& range) {
  const auto& source = cells_of(from);
  auto& target = cells_of(to);
  const auto first = static_cast<std::size_t>(range.first_token);
  const std::size_t end = first + static_cast<std::size_t>(range.n_tokens);
  TSR_CHECK(from != to && target.size() == first && end <= source.size());
  for (std::size_t i = first; i < end; ++i) {
    ++n_users_[static_cast<std::size_t>(source[i])];
    target.push_back(source[i]);
  }
}

void KvCells::remove(SequenceId sequence) {
  auto& cells = cells_of(sequence);
  for (const int cell : cells) {
    if (--n_users_[static_cast<std::size_t>(cell)] > 0) continue;
    free_.push_back(cell);
    --n_used_;
  }
  cells.clear();
}

void KvCells::clear() {
  for (auto& cells : cells_of_sequence_) cells.clear();
  n_users_.clear();
  free_.clear();
  n_used_ = 0;
}

}  // namespace tessera::runtime
