// Which host names may be fetched: a list of the operator's, or the whole public internet.
//
// Names alone decide nothing about addresses: an allowed name that resolves to an internal address
// is still refused (address_rules.h).
// @thread any; immutable after construction
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace tessera::fetch {

/// A list that people keep by hand; it crosses to the fetcher in one message.
inline constexpr std::size_t kDomainsMax = 64;

class DomainRules {
 public:
  /// Allows nothing.
  DomainRules() = default;

  static DomainRules public_internet();

  /// @param entries  "cdn.example.com", or "*.example.com" for every name below example.com, but
  ///                 not example.com itself; IP addresses as they stand in a canonical URL
  /// @errors  invalid_argument `remote_domain_invalid`: not such an entry, or more than kDomainsMax
  static Result<DomainRules> only(std::span<const std::string> entries);

  /// @param host  canonical (url.h)
  bool allows(std::string_view host) const;

  bool is_public_internet() const { return public_internet_; }

  /// In canonical form, as only() takes them.
  const std::vector<std::string>& entries() const { return entries_; }

 private:
  bool public_internet_ = false;
  std::vector<std::string> entries_;
};

}  // namespace tessera::fetch
