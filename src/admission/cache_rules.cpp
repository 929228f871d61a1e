#include "admission/cache_rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>
#include <utility>

namespace tessera::admission {
namespace {

using Scope = CachePolicy::Scope;
using Tier = CachePolicy::Tier;

// Both from least to most.
constexpr std::array<std::pair<std::string_view, Scope>, 3> kScopes{
    {{"none", Scope::kNone}, {"request", Scope::kRequest}, {"tenant", Scope::kTenant}}};
constexpr std::array<std::pair<std::string_view, Tier>, 2> kTiers{
    {{"memory", Tier::kMemory}, {"all", Tier::kAll}}};

template <typename Table, typename Value>
std::size_t rank_of(const Table& table, Value value) {
  const auto found =
      std::ranges::find_if(table, [value](const auto& row) { return row.second == value; });
  return static_cast<std::size_t>(found - table.begin());
}

Error bad_rule(std::string_view name, std::string_view expected) {
  return make_error(ErrorCode::kInvalidArgument, "invalid_cache_rule",
                    std::string(name) + " must be " + std::string(expected));
}

Error raised(std::string_view field, std::string value, std::string_view most) {
  const std::string param = "tessera.cache." + std::string(field);
  return make_error(ErrorCode::kInvalidArgument, "limit_not_lower",
                    param + ": " + std::move(value) + " exceeds the " + std::string(most) +
                        " that the operator allows; a request may lower a limit, not raise it",
                    param);
}

template <typename Table, typename Value>
Result<void> read_word(const Table& table, std::string_view name, std::string_view text,
                       std::optional<Value>& value) {
  const auto found =
      std::ranges::find_if(table, [text](const auto& row) { return row.first == text; });
  if (found == table.end()) {
    std::string expected(table.front().first);
    for (std::size_t i = 1; i < table.size(); ++i) expected += " or " + std::string(table[i].first);
    return bad_rule(name, expected);
  }
  value = found->second;
  return {};
}

Result<void> read_seconds(std::string_view name, std::string_view text,
                          std::optional<std::chrono::seconds>& value) {
  std::int64_t seconds = 0;
  const char* const end = std::to_address(text.end());
  const auto parsed = std::from_chars(std::to_address(text.begin()), end, seconds);
  if (parsed.ec != std::errc() || parsed.ptr != end || seconds < 1 ||
      seconds > kCacheTimeMax.count()) {
    return bad_rule(name, "between 1 and " + std::to_string(kCacheTimeMax.count()));
  }
  value = std::chrono::seconds(seconds);
  return {};
}

Result<void> read_rule(std::string_view word, CacheRules& rules) {
  constexpr std::string_view kMax = "_max";
  const std::size_t equals = std::min(word.find('='), word.size());
  const std::string_view name = word.substr(0, equals);
  const std::string_view text = word.substr(std::min(equals + 1, word.size()));
  const bool is_max = name.ends_with(kMax);
  const std::string_view field = is_max ? name.substr(0, name.size() - kMax.size()) : name;
  CacheWish& side = is_max ? rules.max : rules.defaults;
  if (field == "scope") return read_word(kScopes, name, text, side.scope);
  if (field == "tier") return read_word(kTiers, name, text, side.tier);
  if (field == "ttl_seconds") return read_seconds(name, text, side.time_to_live);
  return bad_rule("a rule of the cache", "scope=, tier= or ttl_seconds=, each also with _max");
}

/// The least of the two.
template <typename Table, typename Value>
Value capped(const Table& table, Value value, const std::optional<Value>& most) {
  return most && rank_of(table, *most) < rank_of(table, value) ? *most : value;
}

template <typename Table, typename Value>
Result<Value> allowed(const Table& table, std::string_view field, const std::optional<Value>& wish,
                      Value otherwise, const std::optional<Value>& most) {
  if (!wish) return capped(table, otherwise, most);
  if (capped(table, *wish, most) == *wish) return *wish;
  return raised(field, "'" + std::string(table[rank_of(table, *wish)].first) + "'",
                "'" + std::string(table[rank_of(table, *most)].first) + "'");
}

void fill(CacheWish& wish, const CacheWish& others) {
  if (!wish.scope) wish.scope = others.scope;
  if (!wish.tier) wish.tier = others.tier;
  if (!wish.time_to_live) wish.time_to_live = others.time_to_live;
}

}  // namespace

CacheRules CacheRules::or_else(const CacheRules& others) const {
  CacheRules both = *this;
  fill(both.defaults, others.defaults);
  fill(both.max, others.max);
  return both;
}

Result<CacheRules> parse_cache_rules(std::string_view words) {
  constexpr std::string_view kBlanks = " \t\r";
  CacheRules rules;
  for (;;) {
    words.remove_prefix(std::min(words.find_first_not_of(kBlanks), words.size()));
    if (words.empty()) return rules;
    const std::size_t end = std::min(words.find_first_of(kBlanks), words.size());
    TSR_RETURN_IF_ERROR(read_rule(words.substr(0, end), rules));
    words.remove_prefix(end);
  }
}

Result<CachePolicy> apply_cache_rules(const CacheRules& rules, const CacheWish& wish) {
  CachePolicy policy;
  TSR_ASSIGN_OR_RETURN(policy.scope,
                       allowed(kScopes, "scope", wish.scope,
                               rules.defaults.scope.value_or(policy.scope), rules.max.scope));
  TSR_ASSIGN_OR_RETURN(policy.tier,
                       allowed(kTiers, "tier", wish.tier, rules.defaults.tier.value_or(policy.tier),
                               rules.max.tier));
  const auto& most = rules.max.time_to_live;
  if (wish.time_to_live && most && *wish.time_to_live > *most) {
    return raised("ttl_seconds", std::to_string(wish.time_to_live->count()),
                  std::to_string(most->count()));
  }
  policy.time_to_live = wish.time_to_live ? wish.time_to_live : rules.defaults.time_to_live;
  if (most) policy.time_to_live = std::min(policy.time_to_live.value_or(*most), *most);
  return policy;
}

}  // namespace tessera::admission
