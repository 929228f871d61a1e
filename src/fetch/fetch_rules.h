// What the operator allows to be fetched, as one value that both processes hold: the server refuses
// early with it, the fetcher checks each hop with it.
// @thread any; immutable once made
#pragma once

#include <cstddef>
#include <vector>

#include "core/result.h"
#include "fetch/address_rules.h"
#include "fetch/domain_rules.h"
#include "fetch/url.h"
#include "fetch/wire.h"

namespace tessera::fetch {

struct FetchRules {
  UrlPolicy urls;                              // ≤ wire::kPortsMax ports
  DomainRules domains;                         // nothing by default
  std::vector<AddressRange> denied_addresses;  // ≤ wire::kRangesMax
};

/// @errors  invalid_argument `remote_rules_too_many`: more than a message carries
Result<wire::Configure> to_wire(const FetchRules& rules);

/// @errors  invalid_argument `remote_rules_too_many`, `remote_domain_invalid`: not made by to_wire
Result<FetchRules> from_wire(const wire::Configure& message);

}  // namespace tessera::fetch
