#include "schedule/plan_admission.h"

namespace tessera::schedule {

std::optional<std::size_t> TenantTurns::next(std::span<const WaitingNeed> waiting,
                                             const std::vector<bool>& starts) const {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (starts[i]) continue;
    if (!first || turn_of(waiting[i].tenant) < turn_of(waiting[*first].tenant)) first = i;
  }
  return first;
}

void TenantTurns::start(const WaitingNeed& request) {
  now_ = turn_of(request.tenant);
  turns_[request.tenant] = now_ + request.need.n_kv_cells;
  std::erase_if(turns_, [this](const auto& turn) { return turn.second <= now_; });
}

std::int64_t TenantTurns::turn_of(TenantId tenant) const {
  const auto found = turns_.find(tenant);
  return found == turns_.end() ? now_ : found->second;
}

std::vector<std::size_t> plan_admission(std::span<const WaitingNeed> waiting, Need free,
                                        TenantTurns& turns) {
  std::vector<std::size_t> order;
  std::vector<bool> starts(waiting.size());
  while (free.n_sequences > 0) {
    const auto i = turns.next(waiting, starts);
    if (!i) break;
    const Need& need = waiting[*i].need;
    if (need.n_sequences > free.n_sequences || need.n_kv_cells > free.n_kv_cells) break;
    free.n_sequences -= need.n_sequences;
    free.n_kv_cells -= need.n_kv_cells;
    turns.start(waiting[*i]);
    starts[*i] = true;
    order.push_back(*i);
  }
  return order;
}

}  // namespace tessera::schedule
