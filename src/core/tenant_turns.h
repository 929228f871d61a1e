// Whose turn it is, by what each tenant has had: start-time fair queueing (Goyal, Vin, Cheng,
// SIGCOMM 1996). What is counted is the caller's: cells of the KV cache, patches.
#pragma once

#include <cstdint>
#include <map>

#include "core/ids.h"

namespace tessera {

/// What each tenant has had, as far as it is more than what the one has had who was last in turn:
/// who asks for nothing for a while saves nothing up. Holds no more tenants than there are keys.
/// @thread one at a time
class TenantTurns {
 public:
  /// The smallest is next.
  std::int64_t turn_of(TenantId tenant) const {
    const auto found = turns_.find(tenant);
    return found == turns_.end() ? now_ : found->second;
  }

  /// Whose turn it is gets so much.
  void serve(TenantId tenant, std::int64_t cost) {
    now_ = turn_of(tenant);
    add(tenant, cost);
    std::erase_if(turns_, [this](const auto& turn) { return turn.second <= now_; });
  }

  /// Another one gets so much beside them.
  void add(TenantId tenant, std::int64_t cost) { turns_[tenant] = turn_of(tenant) + cost; }

 private:
  std::int64_t now_ = 0;                    // the turn of the one who was last
  std::map<TenantId, std::int64_t> turns_;  // later than that
};

}  // namespace tessera
