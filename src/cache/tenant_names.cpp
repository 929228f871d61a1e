#include "cache/tenant_names.h"

#include <algorithm>

namespace tessera::cache {
namespace {

constexpr std::string_view kNamePrefix = "name:";
constexpr std::string_view kKeyPrefix = "key:";

/// Of all who have no key.
constexpr std::string_view kEveryone = "everyone";

/// Digits of a key's digest that people read: 64 bits, more than keys that a file holds.
constexpr std::size_t kShownDigits = 16;

std::string label_of(std::string_view name) {
  if (name.starts_with(kKeyPrefix)) {
    return std::string(name.substr(0, kKeyPrefix.size() + kShownDigits));
  }
  if (!name.starts_with(kNamePrefix)) return std::string(name);
  const std::string_view plain = name.substr(kNamePrefix.size());
  return std::string(plain == kEveryone ? name : plain);
}

}  // namespace

std::string TenantNames::label(TenantId tenant) const {
  if (tenant.value < names_.size()) return label_of(names_[tenant.value]);
  return "number:" + std::to_string(tenant.value);
}

TenantNames::Named TenantNames::named(std::string_view text) const {
  const bool is_whole =
      text == kEveryone || text.starts_with(kNamePrefix) || text.starts_with(kKeyPrefix);
  const std::string whole = is_whole ? std::string(text) : std::string(kNamePrefix).append(text);
  const auto found = std::ranges::find_if(
      names_, [&](const std::string& name) { return name == whole || label_of(name) == text; });
  if (found == names_.end()) return {"name " + whole, std::nullopt};
  const TenantId tenant{static_cast<std::uint32_t>(found - names_.begin())};
  return {name(tenant), tenant};
}

Error unknown_tenant() {
  return make_error(ErrorCode::kNotFound, "tenant_unknown",
                    "there is no such tenant, neither in the key file nor in the cache", "tenant");
}

}  // namespace tessera::cache
