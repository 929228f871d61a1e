// Which waiting requests can start. A pure function of its arguments.
//
// First come, first served: nobody overtakes. What a request may use at most is reserved when it
// starts, so that a running one never lacks KV cells. The first in line starts at the latest when
// all running requests have ended, because one that can never fit does not enter the line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::schedule {

/// What a request takes while it runs, over all its sequences.
struct Need {
  int n_sequences = 1;
  std::int64_t n_kv_cells = 0;  // prompt and output limit
};

struct Room {
  int n_sequences = 0;
  std::int64_t n_kv_cells = 0;  // not reserved
};

inline bool fits(const Need& need, const Room& room) {
  return need.n_sequences <= room.n_sequences && need.n_kv_cells <= room.n_kv_cells;
}

/// @param waiting  in order of arrival
/// @return         how many of them, from the front, can start now
std::size_t plan_admission(std::span<const Need> waiting, Room free);

}  // namespace tessera::schedule
