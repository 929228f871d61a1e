// Who a tenant is from one start to the next: TenantId counts the lines of a key file, which people
// edit. And how an operator says which one is meant:
//
//   alice            the tenant of that name in the key file, now or in an earlier start
//   name:everyone    the same, for a name that means something else here
//   everyone         all who ask a server without a key file
//   key:0123456789abcdef    of a key without a name: the start of its SHA-256, or all of it
//   folder:t-…       of the disk tier, whoever that was
// @thread any; immutable
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/ids.h"

namespace tessera::cache {

class TenantNames {
 public:
  TenantNames() = default;

  /// @param names  by TenantId: the first is that of TenantId{0}
  explicit TenantNames(std::vector<std::string> names) : names_(std::move(names)) {}

  /// Never that of another tenant. One without a name has its number, which no other start knows.
  std::string name(TenantId tenant) const {
    if (tenant.value < names_.size()) return "name " + names_[tenant.value];
    return "number " + std::to_string(tenant.value);
  }

  /// Of each that has a name, by TenantId.
  std::size_t size() const { return names_.size(); }

  /// As people read it; named() takes it back.
  std::string label(TenantId tenant) const;

  /// Who is meant, as name() says it, and the number if this start has one for it.
  struct Named {
    std::string name;
    std::optional<TenantId> tenant;
  };
  Named named(std::string_view text) const;

 private:
  std::vector<std::string> names_;
};

/// not_found `tenant_unknown`.
Error unknown_tenant();

}  // namespace tessera::cache
