#include "api/cache_json.h"

#include <chrono>
#include <utility>

#include "api/json_field.h"
#include "api/json_writer.h"

namespace tessera::api {
namespace {

using pipeline::CacheReport;
using pipeline::ForgottenEntries;
using pipeline::TenantUse;
using pipeline::TierReport;

/// A count and what it is called.
struct TierCount {
  std::string_view name;
  std::uint64_t TierReport::* at;
};
constexpr TierCount kTierCounts[] = {
    {"n_hits", &TierReport::n_hits},           {"n_misses", &TierReport::n_misses},
    {"n_evicted", &TierReport::n_evicted},     {"n_expired", &TierReport::n_expired},
    {"n_forgotten", &TierReport::n_forgotten}, {"n_unreadable", &TierReport::n_unreadable},
    {"n_dropped", &TierReport::n_dropped},     {"n_errors", &TierReport::n_errors},
};

void write_count(JsonWriter& json, std::string_view name, std::uint64_t value) {
  json.key(name).number(static_cast<std::int64_t>(value));
}

void write_tenant(JsonWriter& json, const TenantUse& use) {
  json.begin_object().key("tenant").text(use.tenant);
  write_count(json, "n_entries", use.n_entries);
  write_count(json, "n_bytes", use.n_bytes);
  write_count(json, "n_hits", use.n_hits);
  json.key("oldest_use_seconds").seconds(to_seconds(use.oldest_use));
  json.key("last_use_seconds").seconds(to_seconds(use.last_use));
  json.end_object();
}

void write_tier(JsonWriter& json, const TierReport& tier) {
  json.begin_object().key("tier").text(tier.tier).key("on").boolean(tier.on);
  write_count(json, "n_entries", tier.n_entries);
  write_count(json, "n_bytes", tier.n_bytes);
  write_count(json, "bytes_max", tier.bytes_max);
  for (const TierCount& count : kTierCounts) write_count(json, count.name, tier.*count.at);
  json.key("saved_seconds").seconds(to_seconds(tier.saved)).key("oldest_use_seconds");
  if (tier.oldest_use) {
    json.seconds(to_seconds(*tier.oldest_use));
  } else {
    json.null();
  }
  json.key("tenants").begin_array();
  for (const TenantUse& use : tier.tenants) write_tenant(json, use);
  json.end_array().end_object();
}

Error bad_answer() {
  return make_error(ErrorCode::kUnavailable, "bad_answer",
                    "the server's answer is not what this program knows");
}

Result<Duration> duration(const Field& object, std::string_view name) {
  TSR_ASSIGN_OR_RETURN(const Field field, object.require(name));
  TSR_ASSIGN_OR_RETURN(const double seconds, field.number());
  constexpr double kSecondsMax = 1e9;  // keeps the conversion in range
  if (!(seconds >= 0 && seconds <= kSecondsMax)) return bad_answer();
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

Result<std::uint64_t> count(const Field& object, std::string_view name) {
  TSR_ASSIGN_OR_RETURN(const Field field, object.require(name));
  TSR_ASSIGN_OR_RETURN(const std::int64_t value, field.integer(0));
  return static_cast<std::uint64_t>(value);
}

Result<std::string> text(const Field& object, std::string_view name) {
  TSR_ASSIGN_OR_RETURN(const Field field, object.require(name));
  return field.string();
}

Result<TenantUse> read_tenant(const Field& object) {
  TSR_RETURN_IF_ERROR(object.expect_object());
  TenantUse use;
  TSR_ASSIGN_OR_RETURN(use.tenant, text(object, "tenant"));
  TSR_ASSIGN_OR_RETURN(use.n_entries, count(object, "n_entries"));
  TSR_ASSIGN_OR_RETURN(use.n_bytes, count(object, "n_bytes"));
  TSR_ASSIGN_OR_RETURN(use.n_hits, count(object, "n_hits"));
  TSR_ASSIGN_OR_RETURN(use.oldest_use, duration(object, "oldest_use_seconds"));
  TSR_ASSIGN_OR_RETURN(use.last_use, duration(object, "last_use_seconds"));
  return use;
}

Result<TierReport> read_tier(const Field& object) {
  TSR_RETURN_IF_ERROR(object.expect_object());
  TierReport tier;
  TSR_ASSIGN_OR_RETURN(tier.tier, text(object, "tier"));
  TSR_ASSIGN_OR_RETURN(const Field on, object.require("on"));
  TSR_ASSIGN_OR_RETURN(tier.on, on.boolean());
  TSR_ASSIGN_OR_RETURN(tier.n_entries, count(object, "n_entries"));
  TSR_ASSIGN_OR_RETURN(tier.n_bytes, count(object, "n_bytes"));
  TSR_ASSIGN_OR_RETURN(tier.bytes_max, count(object, "bytes_max"));
  for (const TierCount& row : kTierCounts) {
    TSR_ASSIGN_OR_RETURN(tier.*row.at, count(object, row.name));
  }
  TSR_ASSIGN_OR_RETURN(tier.saved, duration(object, "saved_seconds"));
  if (object.find("oldest_use_seconds")) {
    TSR_ASSIGN_OR_RETURN(tier.oldest_use, duration(object, "oldest_use_seconds"));
  }
  TSR_ASSIGN_OR_RETURN(const Field tenants, object.require("tenants"));
  TSR_RETURN_IF_ERROR(tenants.expect_array());
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    TSR_ASSIGN_OR_RETURN(TenantUse use, read_tenant(tenants.at(i)));
    tier.tenants.push_back(std::move(use));
  }
  return tier;
}

Result<CacheReport> read_report(std::string_view json_text) {
  TSR_ASSIGN_OR_RETURN(const Json json, parse_json(std::string(json_text)));
  const Field root(json, "");
  TSR_RETURN_IF_ERROR(root.expect_object());
  TSR_ASSIGN_OR_RETURN(const Field tiers, root.require("tiers"));
  TSR_RETURN_IF_ERROR(tiers.expect_array());
  CacheReport report;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    TSR_ASSIGN_OR_RETURN(TierReport tier, read_tier(tiers.at(i)));
    report.tiers.push_back(std::move(tier));
  }
  return report;
}

Result<ForgottenEntries> read_forgotten(std::string_view json_text) {
  TSR_ASSIGN_OR_RETURN(const Json json, parse_json(std::string(json_text)));
  const Field root(json, "");
  TSR_RETURN_IF_ERROR(root.expect_object());
  ForgottenEntries forgotten;
  TSR_ASSIGN_OR_RETURN(forgotten.n_memory, count(root, "n_memory"));
  TSR_ASSIGN_OR_RETURN(forgotten.n_disk, count(root, "n_disk"));
  return forgotten;
}

/// What an error is called and says.
struct ErrorWords {
  std::string reason;
  std::string message;
};

Result<ErrorWords> read_error(std::string_view json_text) {
  TSR_ASSIGN_OR_RETURN(const Json json, parse_json(std::string(json_text)));
  const Field root(json, "");
  TSR_RETURN_IF_ERROR(root.expect_object());
  TSR_ASSIGN_OR_RETURN(const Field error, root.require("error"));
  TSR_RETURN_IF_ERROR(error.expect_object());
  ErrorWords words;
  TSR_ASSIGN_OR_RETURN(words.reason, text(error, "code"));
  TSR_ASSIGN_OR_RETURN(words.message, text(error, "message"));
  return words;
}

}  // namespace

std::string cache_report_json(const CacheReport& report) {
  JsonWriter json;
  json.begin_object().key("object").text("cache").key("tiers").begin_array();
  for (const TierReport& tier : report.tiers) write_tier(json, tier);
  json.end_array().end_object();
  return std::move(json).take();
}

std::string forgotten_json(const ForgottenEntries& forgotten) {
  JsonWriter json;
  json.begin_object().key("object").text("cache.purge");
  write_count(json, "n_memory", forgotten.n_memory);
  write_count(json, "n_disk", forgotten.n_disk);
  json.end_object();
  return std::move(json).take();
}

Result<CacheReport> parse_cache_report(std::string_view json) {
  auto report = read_report(json);
  return report ? std::move(report) : Result<CacheReport>(bad_answer());
}

Result<ForgottenEntries> parse_forgotten(std::string_view json) {
  auto forgotten = read_forgotten(json);
  return forgotten ? std::move(forgotten) : Result<ForgottenEntries>(bad_answer());
}

Error parse_error(std::string_view json, int status) {
  Error error = bad_answer();
  if (auto words = read_error(json)) {
    error.reason = std::move(words->reason);
    error.message = std::move(words->message);
  }
  switch (status) {
    case 400:
      error.code = ErrorCode::kInvalidArgument;
      break;
    case 401:
    case 403:
      error.code = ErrorCode::kUnauthenticated;
      break;
    case 404:
      error.code = ErrorCode::kNotFound;
      break;
    default:
      error.code = ErrorCode::kUnavailable;
  }
  return error;
}

}  // namespace tessera::api
