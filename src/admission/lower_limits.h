// The limits of one request: the operator's, lowered where the request asks for less. A client that
// knows what it will send can make sure that nothing else is worked on in its name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/limits.h"
#include "core/request.h"
#include "core/result.h"

namespace tessera::admission {

/// A limit that a request may lower; the name is its key in `tessera.limits` of the body, which is
/// its key in [limits] of the configuration file.
struct LowerableLimit {
  std::string_view name;
  std::int64_t (*get)(const Limits& limits);
  void (*set)(Limits& limits, std::int64_t value);
};

std::span<const LowerableLimit> lowerable_limits();

/// @errors  invalid_argument `unknown_limit`, `limit_not_lower` (above the operator's), or
///          `invalid_value` (negative); `param` names the field
Result<Limits> lower_limits(const Limits& limits, std::span<const LimitWish> wishes);

}  // namespace tessera::admission
