#include "fetch/outcome_name.h"

namespace tessera::fetch {

std::string_view outcome_name(wire::Outcome outcome) {
  switch (outcome) {
    case wire::Outcome::kFetched:
      return "fetched";
    case wire::Outcome::kUrlRefused:
      return "url_refused";
    case wire::Outcome::kDomainRefused:
      return "domain_refused";
    case wire::Outcome::kAddressRefused:
      return "address_refused";
    case wire::Outcome::kNotResolved:
      return "not_resolved";
    case wire::Outcome::kRedirectsTooMany:
      return "redirects_too_many";
    case wire::Outcome::kStatusRefused:
      return "status_refused";
    case wire::Outcome::kHeadersTooLarge:
      return "headers_too_large";
    case wire::Outcome::kTooLarge:
      return "too_large";
    case wire::Outcome::kTimeout:
      return "timeout";
    case wire::Outcome::kNetworkFailed:
      return "network_failed";
    case wire::Outcome::kBusy:
      return "busy";
    case wire::Outcome::kFailed:
      return "failed";
    case wire::Outcome::kNotMedia:
      return "not_media";
  }
  return "failed";
}

}  // namespace tessera::fetch
