// How a fetch ended, as a word for the operator's counters.
// @thread any; pure
#pragma once

#include <string_view>

#include "fetch/wire.h"

namespace tessera::fetch {

/// "fetched", "address_refused", …; stable: a metric label.
std::string_view outcome_name(wire::Outcome outcome);

}  // namespace tessera::fetch
