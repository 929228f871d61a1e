// Which waiting requests can start.
//
// Tenants take turns by what they have had (TenantTurns), in KV cells: next is the first in line of
// the one that has had least, the earlier one where two have had the same. Of one tenant's requests
// it is first come, first served. What a request may use at most is reserved when it
// starts, so that a running one never lacks KV cells. Nobody overtakes the next; it starts at the
// latest when all that run have ended, because one that can never fit does not enter the line.
//
// Where there are several tenants, one that runs something leaves an eighth of what there is to the
// others: who has nothing yet does not wait until somebody else's answer ends. Those that must
// leave room are passed over meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/tenant_turns.h"

namespace tessera::schedule {

/// What a request takes while it runs, over all its sequences; or what is free.
struct Need {
  int n_sequences = 1;
  std::int64_t n_kv_cells = 0;  // prompt and output limit

  void add(const Need& more) {
    n_sequences += more.n_sequences;
    n_kv_cells += more.n_kv_cells;
  }
};

struct WaitingNeed {
  TenantId tenant;
  Need need;
};

/// Of the sequences and the cells; nothing of fewer than four sequences, where it would be too
/// much.
inline constexpr int kPartForOthers = 8;

/// What there is in all.
struct Room {
  Need total;
  bool has_several_tenants = false;
};

/// A function of its arguments alone.
/// @param waiting  in order of arrival
/// @param running  of each tenant that runs something, what it has
/// @param turns    goes on by those that start
/// @return         indices of those that start now, in the order in which they are to
std::vector<std::size_t> plan_admission(std::span<const WaitingNeed> waiting, const Room& room,
                                        std::map<TenantId, Need> running, TenantTurns& turns);

}  // namespace tessera::schedule
