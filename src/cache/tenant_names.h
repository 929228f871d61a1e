// Who a tenant is from one start to the next: TenantId counts the lines of a key file, which people
// edit.
// @thread any; immutable
#pragma once

#include <string>
#include <utility>
#include <vector>

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

 private:
  std::vector<std::string> names_;
};

}  // namespace tessera::cache
