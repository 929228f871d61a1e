// Which waiting requests can start.
//
// Tenants take turns by what they have had (TenantTurns), in KV cells: next is the first in line of
// the one that has had least, the earlier one where two have had the same. Of one tenant's requests
// it is first come, first served. Nobody overtakes the next; it starts at the latest when all that
// run have ended, because one that can never fit does not enter the line.
//
// What a request needs soon is reserved when it starts: its prompt, and kOutputAhead tokens of each
// answer. Output limits are seldom reached, so what they allow beyond that may add up to half as
// much again as there is; when it is reached after all, somebody gives way (plan_preemption.h).
//
// Where there are several tenants, one that runs something leaves an eighth of what there is to the
// others: who has nothing yet does not wait until somebody else's answer ends. Those that must
// leave room are passed over meanwhile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/tenant_turns.h"

namespace tessera::schedule {

/// What a request takes while it runs, over all its sequences; or what there is, or is free.
struct Need {
  int n_sequences = 1;
  std::int64_t n_kv_cells = 0;       // soon
  std::int64_t n_kv_cells_most = 0;  // with all of the output limit

  void add(const Need& more) {
    n_sequences += more.n_sequences;
    n_kv_cells += more.n_kv_cells;
    n_kv_cells_most += more.n_kv_cells_most;
  }
  Need operator-() const { return {-n_sequences, -n_kv_cells, -n_kv_cells_most}; }
};

/// Tokens of output that a sequence has room for beyond those that it has. One that came back from
/// being set aside decodes about as many before it can be again: far longer than the copy takes.
inline constexpr int kOutputAhead = 64;

/// Of the cells: as much as what is allowed may add up to beyond them. So cells in use and copies
/// of those that are set aside never take more than one and a half caches together.
inline constexpr int kPartSetAside = 2;

/// Of one sequence.
/// @param n_output  tokens that it has
constexpr int n_cells_soon(int n_prompt, int n_output, int output_limit) {
  return n_prompt + std::min(output_limit, n_output + kOutputAhead);
}

/// All that an engine has.
constexpr Need total_of(int n_sequences, std::int64_t n_kv_cells) {
  return {n_sequences, n_kv_cells, n_kv_cells + n_kv_cells / kPartSetAside};
}

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
