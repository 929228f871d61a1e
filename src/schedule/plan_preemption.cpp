#include "schedule/plan_preemption.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tessera::schedule {

std::optional<std::size_t> who_gives_way(std::span<const Begun> running) {
  if (running.size() < 2) return std::nullopt;
  std::map<TenantId, std::int64_t> cells_of;
  for (const Begun& one : running) cells_of[one.tenant] += one.n_kv_cells;
  const auto oldest = std::ranges::min_element(running, {}, &Begun::arrival);
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < running.size(); ++i) {
    if (running.begin() + static_cast<std::ptrdiff_t>(i) == oldest) continue;
    const auto rank = [&](std::size_t k) {
      return std::pair(cells_of[running[k].tenant], running[k].arrival);
    };
    if (!chosen || rank(i) > rank(*chosen)) chosen = i;
  }
  return chosen;
}

bool can_come_back(std::span<const Begun> running, const Begun& next, std::int64_t n_kv_cells) {
  std::int64_t n_needed = next.n_kv_cells;
  for (const Begun& one : running) n_needed += one.n_kv_cells;
  return n_needed <= n_kv_cells;
}

bool is_copied(std::optional<double> copy, std::optional<double> compute) {
  return !copy || !compute || *copy <= *compute;
}

}  // namespace tessera::schedule
