#include "schedule/plan_admission.h"

#include <optional>

namespace tessera::schedule {
namespace {

/// Of the first in line of each tenant.
/// @param passed  those that are no longer in line  [waiting.size()]
std::optional<std::size_t> next_of(std::span<const WaitingNeed> waiting,
                                   const std::vector<bool>& passed, const TenantTurns& turns) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (passed[i]) continue;
    if (!first || turns.turn_of(waiting[i].tenant) < turns.turn_of(waiting[*first].tenant)) {
      first = i;
    }
  }
  return first;
}

bool fits(const Need& need, const Need& free) {
  return need.n_sequences <= free.n_sequences && need.n_kv_cells <= free.n_kv_cells &&
         need.n_kv_cells_most <= free.n_kv_cells_most;
}

/// What a tenant that runs something leaves to the others.
Need left_to_others(const Room& room) {
  if (!room.has_several_tenants || room.total.n_sequences < 4) return {0, 0};
  return {(room.total.n_sequences + kPartForOthers - 1) / kPartForOthers,
          room.total.n_kv_cells / kPartForOthers, room.total.n_kv_cells_most / kPartForOthers};
}

}  // namespace

std::vector<std::size_t> plan_admission(std::span<const WaitingNeed> waiting, const Room& room,
                                        std::map<TenantId, Need> running, TenantTurns& turns) {
  Need free = room.total;
  for (const auto& [tenant, need] : running) free.add(-need);
  const Need others = left_to_others(room);
  std::vector<std::size_t> order;
  std::vector<bool> passed(waiting.size());  // starts, or is to leave room
  while (const auto i = next_of(waiting, passed, turns)) {
    const auto& [tenant, need] = waiting[*i];
    if (!fits(need, free)) break;
    Need with_others = need;
    with_others.add(others);
    if (running.contains(tenant) && !fits(with_others, free)) {
      for (std::size_t k = *i; k < waiting.size(); ++k) {
        if (waiting[k].tenant == tenant) passed[k] = true;
      }
      continue;
    }
    free.add(-need);
    running.try_emplace(tenant, Need{0, 0}).first->second.add(need);
    turns.serve(tenant, std::max(need.n_kv_cells, need.n_kv_cells_most));
    passed[*i] = true;
    order.push_back(*i);
  }
  return order;
}

}  // namespace tessera::schedule
