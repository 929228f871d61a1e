// The feature cache's figures as JSON, and back: the server writes them, the command line reads
// them, and prints its own in the same form.
//
//   {"object": "cache", "tiers": [{"tier": "memory", "on": true, "n_entries": 3, …,
//                                  "tenants": [{"tenant": "alice", "n_entries": 2, …}]}]}
//
// Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "pipeline/service.h"

namespace tessera::api {

std::string cache_report_json(const pipeline::CacheReport& report);

/// {"object": "cache.purge", "n_memory": 2, "n_disk": 2}: entries that cannot be read any more.
std::string forgotten_json(const pipeline::ForgottenEntries& forgotten);

/// @errors  unavailable (`bad_answer`: not what the functions above write)
Result<pipeline::CacheReport> parse_cache_report(std::string_view json);
Result<pipeline::ForgottenEntries> parse_forgotten(std::string_view json);

/// The error in a body that error_json() wrote.
/// @param status  what HTTP says about it
Error parse_error(std::string_view json, int status);

}  // namespace tessera::api
