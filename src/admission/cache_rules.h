// How long, where and for whom the features of a request's images may be kept: what an operator
// allows, by server and by tenant, and what a request asks for. A request may ask for less, never
// for more.
//
// Values; any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "core/request.h"
#include "core/result.h"

namespace tessera::admission {

/// What a request says of its CachePolicy.
struct CacheWish {
  std::optional<CachePolicy::Scope> scope;
  std::optional<CachePolicy::Tier> tier;
  std::optional<std::chrono::seconds> time_to_live;
};

/// A year; keeps the sum with a point in time in range.
inline constexpr std::chrono::seconds kCacheTimeMax{31'536'000};

/// What an operator says: what a request gets that says nothing, and the most that one may ask for.
/// What is unset is as CachePolicy has it, and without a ceiling.
struct CacheRules {
  CacheWish defaults;
  CacheWish max;

  /// These, and where they say nothing `others`.
  CacheRules or_else(const CacheRules& others) const;
};

/// Words like "scope=request tier_max=memory ttl_seconds_max=3600", with blanks between: scope
/// (tenant, request, none), tier (all, memory) and ttl_seconds, each also with _max.
/// @errors  invalid_argument (`invalid_cache_rule`); the message names the word's kind, not the
/// word
Result<CacheRules> parse_cache_rules(std::string_view words);

/// @errors  invalid_argument (`limit_not_lower`); `param` names the field
Result<CachePolicy> apply_cache_rules(const CacheRules& rules, const CacheWish& wish);

}  // namespace tessera::admission
