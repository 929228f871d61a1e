// What `tessera cache` prints for people. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pipeline/service.h"

namespace tessera::cli {

/// What is left when only one tenant is asked about; nothing = the whole.
pipeline::CacheReport of_tenant(pipeline::CacheReport report,
                                const std::optional<std::string>& tenant);

/// A column for each tier; counts that only a running server has are left out of a folder's.
/// @param is_folder  of no server
std::string cache_stats_text(const pipeline::CacheReport& report, bool is_folder);

/// A row for each tenant and tier.
std::string cache_list_text(const pipeline::CacheReport& report, bool is_folder);

/// "alice: purged 3 in memory and 5 on disk"
std::string purge_text(const pipeline::ForgottenEntries& forgotten,
                       const std::optional<std::string>& tenant);

/// Two units at most: "3 d 4 h", "12 min", "45 s".
std::string age_text(Duration age);

}  // namespace tessera::cli
