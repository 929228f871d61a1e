#include "api/admin_routes.h"

#include "api/cache_json.h"
#include "api/error_response.h"

namespace tessera::api {
namespace {

constexpr std::string_view kPrefix = "/admin/";
constexpr std::string_view kCachePath = "/admin/cache";

constexpr int kForbidden = 403;

Error missing_whom() {
  return make_error(ErrorCode::kInvalidArgument, "missing_field",
                    "say whose features are to be forgotten: tenant=NAME, or all=true", "tenant");
}

/// What a purge is told to forget.
struct Whom {
  std::optional<std::string> tenant;
  bool all = false;
};

Result<Whom> read_whom(std::string_view query) {
  Whom whom;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::string_view name = pair.substr(0, pair.find('='));
    const std::string value = percent_decode(pair.substr(std::min(name.size() + 1, pair.size())));
    if (name == "tenant" && !value.empty() && !whom.tenant) {
      whom.tenant = value;
    } else if (name == "all" && value == "true") {
      whom.all = true;
    } else {
      return missing_whom();
    }
  }
  // Neither, or both: nobody knows what was meant, and it cannot be taken back.
  if (whom.all == whom.tenant.has_value()) return missing_whom();
  return whom;
}

Reply purge(pipeline::Service& service, std::string_view query) {
  const auto whom = read_whom(query);
  if (!whom) return error_reply(whom.error());
  const auto forgotten = service.forget_features(whom->tenant);
  if (!forgotten) return error_reply(forgotten.error());
  Reply reply;
  reply.body = forgotten_json(*forgotten);
  return reply;
}

}  // namespace

bool needs_admin_key(std::string_view target) {
  return target.starts_with(kPrefix);
}

std::optional<Reply> refuse_admin(const admission::ApiKeys& admin_keys, std::string_view key) {
  if (admin_keys.open()) {
    return error_reply(make_error(ErrorCode::kNotFound, "admin_disabled",
                                  "this server has no admin key: admin_key_file names one"));
  }
  if (key.empty()) {
    return error_reply(make_error(ErrorCode::kUnauthenticated, "missing_admin_key",
                                  "no admin key: send it as 'Authorization: Bearer KEY'"));
  }
  if (admin_keys.authenticate(key)) return std::nullopt;
  return error_reply(make_error(ErrorCode::kUnauthenticated, "not_an_admin_key",
                                "this is no admin key of this server"),
                     kForbidden);
}

std::variant<MatchedRoute, Reply> match_admin_route(std::string_view method,
                                                    std::string_view target) {
  const std::size_t mark = std::min(target.find('?'), target.size());
  if (target.substr(0, mark) != kCachePath) return unknown_path();
  if (method == "GET" || method == "HEAD") return MatchedRoute{Route::kCacheReport, {}};
  if (method != "DELETE") return method_not_allowed("GET, HEAD, DELETE");
  return MatchedRoute{Route::kCachePurge,
                      std::string(target.substr(std::min(mark + 1, target.size())))};
}

Reply admin_reply(pipeline::Service& service, const MatchedRoute& matched) {
  if (matched.route == Route::kCachePurge) return purge(service, matched.id);
  Reply reply;
  reply.body = cache_report_json(service.cache_report());
  return reply;
}

}  // namespace tessera::api
