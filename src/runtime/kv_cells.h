// Which KV cells are in use, for executors whose cache does not say: by numbers of its own, one for
// each token, in the order in which a sequence took them.
#pragma once

#include <cstddef>
#include <vector>

#include "core/ids.h"
#include "runtime/executor.h"

namespace tessera::runtime {

/// @thread one at a time
class KvCells {
 public:
  explicit KvCells(int n_sequences_max)
      : cells_of_sequence_(static_cast<std::size_t>(n_sequences_max)) {}

  /// A token of `sequence` was computed.
  void add(SequenceId sequence);
  int n_of(SequenceId sequence) const {
    return static_cast<int>(cells_of_sequence_[static_cast<std::size_t>(sequence.value)].size());
  }
  /// As Executor::share().
  void share(SequenceId from, SequenceId to, const KvRange& range);
  /// As Executor::remove().
  void remove(SequenceId sequence);
  void clear();

  /// One that several sequences share counts once.
  int n_used() const { return n_used_; }

 private:
  std::vector<int>& cells_of(SequenceId sequence) {
    return cells_of_sequence_[static_cast<std::size_t>(sequence.value)];
  }

  std::vector<std::vector<int>> cells_of_sequence_;  // [n_sequences_max]
  std::vector<int> n_users_;                         // [numbers that were ever used]
  std::vector<int> free_;                            // numbers without users
  int n_used_ = 0;
};

}  // namespace tessera::runtime
