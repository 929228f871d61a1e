// /admin: what an operator may see and do while the server runs.
//
//   GET    /admin/cache                 figures of the feature cache, by tier and by tenant
//   DELETE /admin/cache?tenant=NAME     makes what a tenant has in it unreadable
//   DELETE /admin/cache?all=true        the same of everybody
//
// With a key of its own (HttpOptions::admin_keys), which is no tenant's; without one nobody may.
//
// @thread any; forgetting may wait for the disk
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "admission/api_keys.h"
#include "api/http_rules.h"
#include "pipeline/service.h"

namespace tessera::api {

/// Under /admin: asks for an admin key.
bool needs_admin_key(std::string_view target);

/// 404 where there is no admin key at all, 401 without a key, 403 with any other.
/// @param key  what the client presented; empty = nothing
std::optional<Reply> refuse_admin(const admission::ApiKeys& admin_keys, std::string_view key);

/// @return  the route, with the query in its id; 404 and 405 as replies
std::variant<MatchedRoute, Reply> match_admin_route(std::string_view method,
                                                    std::string_view target);

/// The answer to a route of match_admin_route().
Reply admin_reply(pipeline::Service& service, const MatchedRoute& matched);

}  // namespace tessera::api
