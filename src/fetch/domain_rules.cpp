#include "fetch/domain_rules.h"

#include <algorithm>
#include <optional>

#include "fetch/url.h"

namespace tessera::fetch {
namespace {

constexpr std::string_view kWildcard = "*.";

bool is_name(std::string_view host) {
  const auto last = host.back();
  return last != ']' && (last < '0' || last > '9');
}

std::optional<std::string> canonical_entry(std::string_view entry) {
  if (!entry.starts_with(kWildcard)) return canonical_host(entry);
  // canonical_host wants two labels at least, so that "*.com" is an error and not half the
  // internet.
  auto suffix = canonical_host(entry.substr(kWildcard.size()));
  if (!suffix || !is_name(*suffix)) return std::nullopt;
  return std::string(kWildcard) + *suffix;
}

bool matches(std::string_view entry, std::string_view host) {
  if (!entry.starts_with(kWildcard)) return entry == host;
  const std::string_view dot_suffix = entry.substr(1);
  return host.size() > dot_suffix.size() && host.ends_with(dot_suffix);
}

}  // namespace

DomainRules DomainRules::public_internet() {
  DomainRules rules;
  rules.public_internet_ = true;
  return rules;
}

Result<DomainRules> DomainRules::only(std::span<const std::string> entries) {
  if (entries.size() > kDomainsMax) {
    return make_error(ErrorCode::kInvalidArgument, "remote_domain_invalid",
                      std::to_string(entries.size()) + " domains for remote media exceed " +
                          std::to_string(kDomainsMax));
  }
  DomainRules rules;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto entry = canonical_entry(entries[i]);
    if (!entry) {
      return make_error(ErrorCode::kInvalidArgument, "remote_domain_invalid",
                        "domain " + std::to_string(i + 1) +
                            " for remote media is neither a full host name nor *.domain");
    }
    rules.entries_.push_back(std::move(*entry));
  }
  return rules;
}

bool DomainRules::allows(std::string_view host) const {
  if (public_internet_) return true;
  return std::ranges::any_of(entries_,
                             [host](std::string_view entry) { return matches(entry, host); });
}

}  // namespace tessera::fetch
