#include "schedule/plan_admission.h"

namespace tessera::schedule {

std::size_t plan_admission(std::span<const Need> waiting, Room free) {
  std::size_t n_started = 0;
  for (const Need& need : waiting) {
    if (!fits(need, free)) break;
    free.n_sequences -= need.n_sequences;
    free.n_kv_cells -= need.n_kv_cells;
    ++n_started;
  }
  return n_started;
}

}  // namespace tessera::schedule
