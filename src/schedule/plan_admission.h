// Which waiting requests can start.
//
// Tenants take turns by what they have had: next is the first in line of the one that has had
// least, in KV cells (start-time fair queueing: Goyal, Vin, Cheng, SIGCOMM 1996). Of one tenant's
// requests it is first come, first served. What a request may use at most is reserved when it
// starts, so that a running one never lacks KV cells. Nobody overtakes the next; it starts at the
// latest when all that run have ended, because one that can never fit does not enter the line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"

namespace tessera::schedule {

/// What a request takes while it runs, over all its sequences; or what is free.
struct Need {
  int n_sequences = 1;
  std::int64_t n_kv_cells = 0;  // prompt and output limit
};

struct WaitingNeed {
  TenantId tenant;
  Need need;
};

/// What each tenant has had, as far as it is more than what the one has had who was last to start:
/// who asks for nothing for a while saves nothing up. Holds no more tenants than there are keys.
class TenantTurns {
 public:
  /// Of the first in line of each tenant; the earlier one where two have had the same.
  /// @param waiting  in order of arrival
  /// @param starts   those that are no longer in line  [waiting.size()]
  std::optional<std::size_t> next(std::span<const WaitingNeed> waiting,
                                  const std::vector<bool>& starts) const;
  void start(const WaitingNeed& request);

 private:
  std::int64_t turn_of(TenantId tenant) const;

  std::int64_t now_ = 0;                    // cells; the turn of the one who was last to start
  std::map<TenantId, std::int64_t> turns_;  // later than that
};

/// A function of its arguments alone.
/// @param waiting  in order of arrival
/// @param turns    goes on by those that start
/// @return         indices of those that start now, in the order in which they are to
std::vector<std::size_t> plan_admission(std::span<const WaitingNeed> waiting, Need free,
                                        TenantTurns& turns);

}  // namespace tessera::schedule
