#include "fetch/fetch_rules.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace tessera::fetch {
namespace {

Error too_many() {
  return make_error(ErrorCode::kInvalidArgument, "remote_rules_too_many",
                    "rules for remote media exceed " + std::to_string(wire::kPortsMax) +
                        " ports, " + std::to_string(kDomainsMax) + " domains or " +
                        std::to_string(wire::kRangesMax) + " address ranges");
}

}  // namespace

Result<wire::Configure> to_wire(const FetchRules& rules) {
  const auto& domains = rules.domains.entries();
  if (rules.urls.ports.size() > wire::kPortsMax || domains.size() > kDomainsMax ||
      rules.denied_addresses.size() > wire::kRangesMax) {
    return too_many();
  }
  wire::Configure message;
  message.allow_http = rules.urls.allow_http ? 1 : 0;
  message.public_internet = rules.domains.is_public_internet() ? 1 : 0;
  message.n_ports = static_cast<std::uint32_t>(rules.urls.ports.size());
  message.n_ranges = static_cast<std::uint32_t>(rules.denied_addresses.size());
  message.n_domains = static_cast<std::uint32_t>(domains.size());
  std::ranges::copy(rules.urls.ports, message.ports.begin());
  std::ranges::transform(
      rules.denied_addresses, message.ranges.begin(), [](const AddressRange& range) {
        return wire::Range{range.base, static_cast<std::uint16_t>(range.prefix_bits),
                           static_cast<std::uint16_t>(range.is_v6 ? 1 : 0)};
      });
  for (std::size_t i = 0; i < domains.size(); ++i) {
    if (domains[i].size() >= wire::kDomainBytes) return too_many();
    std::ranges::copy(domains[i], message.domains[i].begin());
  }
  return message;
}

Result<FetchRules> from_wire(const wire::Configure& message) {
  if (message.n_ports > wire::kPortsMax || message.n_domains > kDomainsMax ||
      message.n_ranges > wire::kRangesMax) {
    return too_many();
  }
  FetchRules rules;
  rules.urls.allow_http = message.allow_http != 0;
  rules.urls.ports.assign(message.ports.begin(), message.ports.begin() + message.n_ports);
  for (std::uint32_t i = 0; i < message.n_ranges; ++i) {
    const wire::Range& range = message.ranges[i];
    const bool is_v6 = range.is_v6 != 0;
    if (range.prefix_bits > (is_v6 ? 128 : 32)) return too_many();
    rules.denied_addresses.push_back({is_v6, range.base, range.prefix_bits});
  }
  if (message.public_internet != 0) {
    rules.domains = DomainRules::public_internet();
    return rules;
  }
  std::vector<std::string> domains;
  for (std::uint32_t i = 0; i < message.n_domains; ++i) {
    const auto& bytes = message.domains[i];
    domains.emplace_back(bytes.begin(), std::ranges::find(bytes, '\0'));
  }
  TSR_ASSIGN_OR_RETURN(rules.domains, DomainRules::only(domains));
  return rules;
}

}  // namespace tessera::fetch
