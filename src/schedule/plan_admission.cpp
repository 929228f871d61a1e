#include "schedule/plan_admission.h"

#include <optional>

namespace tessera::schedule {
namespace {

/// Of the first in line of each tenant.
/// @param starts  those that are no longer in line  [waiting.size()]
std::optional<std::size_t> next_of(std::span<const WaitingNeed> waiting,
                                   const std::vector<bool>& starts, const TenantTurns& turns) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (starts[i]) continue;
    if (!first || turns.turn_of(waiting[i].tenant) < turns.turn_of(waiting[*first].tenant)) {
      first = i;
    }
  }
  return first;
}

}  // namespace

std::vector<std::size_t> plan_admission(std::span<const WaitingNeed> waiting, Need free,
                                        TenantTurns& turns) {
  std::vector<std::size_t> order;
  std::vector<bool> starts(waiting.size());
  while (free.n_sequences > 0) {
    const auto i = next_of(waiting, starts, turns);
    if (!i) break;
    const Need& need = waiting[*i].need;
    if (need.n_sequences > free.n_sequences || need.n_kv_cells > free.n_kv_cells) break;
    free.n_sequences -= need.n_sequences;
    free.n_kv_cells -= need.n_kv_cells;
    turns.serve(waiting[*i].tenant, need.n_kv_cells);
    starts[*i] = true;
    order.push_back(*i);
  }
  return order;
}

}  // namespace tessera::schedule
