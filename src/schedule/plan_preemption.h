// Who gives way when those that run need more KV cells than there are, and who comes back.
//
// Requests start on what they need soon (plan_admission.h), so that can happen. Then one after the
// other is set aside, with its cells copied to memory or to be computed again, until the next step
// fits: of the tenant that has most, the youngest; never the oldest of all, which fits by itself.
// Those that are set aside come back in order of age, each when what it needs soon is free.
// Nobody starts on it meanwhile: it stays reserved.
//
// So the oldest goes on to its end whatever else runs, then the next is the oldest, and all end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/ids.h"

namespace tessera::schedule {

/// A request that has begun.
struct Begun {
  TenantId tenant;
  std::uint64_t arrival = 0;    // in the order of their start: smaller = older; unique
  std::int64_t n_kv_cells = 0;  // that it has; or that it needs soon
};

/// A function of its arguments alone.
/// @param running  those that are not set aside, with the cells that each has
/// @return         index of the one that gives way; nothing where one is left, or none
std::optional<std::size_t> who_gives_way(std::span<const Begun> running);

/// Whether the oldest of those that are set aside can go on.
/// @param running  as above, with the cells that each needs soon
/// @param next     with the cells that it needs soon
bool can_come_back(std::span<const Begun> running, const Begun& next, std::int64_t n_kv_cells);

/// Whether the cells of one that gives way are copied to memory and back, rather than computed
/// again: what is estimated to take less.
/// @param copy     seconds; nothing where none was measured yet, which is then done
/// @param compute  seconds; nothing where it cannot be done, or nobody knows
bool is_copied(std::optional<double> copy, std::optional<double> compute);

}  // namespace tessera::schedule
