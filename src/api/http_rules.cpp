#include "api/http_rules.h"

#include <algorithm>
#include <utility>

#include "api/admin_routes.h"
#include "api/error_response.h"
#include "api/files_routes.h"
#include "api/json_writer.h"
#include "core/ascii.h"

namespace tessera::api {
namespace {

constexpr std::string_view kModelPrefix = "/v1/models/";
constexpr std::string_view kReadMethods = "GET, HEAD";

struct RouteRow {
  std::string_view path;
  bool is_post;
  Route route;
};

constexpr RouteRow kRoutes[] = {
    {"/v1/chat/completions", true, Route::kChat},
    {"/v1/visual/plan", true, Route::kVisualPlan},
    {"/v1/models", false, Route::kModels},
    {"/healthz", false, Route::kHealth},
    {"/readyz", false, Route::kReady},
    {"/metrics", false, Route::kMetrics},
};

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

Reply closing(const Error& error, std::optional<int> status = std::nullopt) {
  Reply reply = error_reply(error, status);
  reply.close = true;
  return reply;
}

void write_model(JsonWriter& json, std::string_view name, std::int64_t created_seconds) {
  json.begin_object().key("id").text(name).key("object").text("model");
  json.key("created").number(created_seconds).key("owned_by").text("tessera").end_object();
}

}  // namespace

std::string percent_decode(std::string_view text) {
  const auto digit = [](char c) {
    constexpr std::string_view kHex = "0123456789abcdef";
    return kHex.find(ascii_lower(c));
  };
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && text.size() - i > 2) {
      const std::size_t high = digit(text[i + 1]);
      const std::size_t low = digit(text[i + 2]);
      if (high != std::string_view::npos && low != std::string_view::npos) {
        decoded += static_cast<char>(static_cast<unsigned char>(high << 4U | low));
        i += 2;
        continue;
      }
    }
    decoded += text[i];
  }
  return decoded;
}

Reply error_reply(const Error& error, std::optional<int> status) {
  const ErrorRow& row = error_row(error.code);
  Reply reply;
  reply.status = status.value_or(row.http_status);
  reply.body = error_json(error);
  reply.error = error;
  if (error.code == ErrorCode::kResourceExhausted || error.code == ErrorCode::kUnavailable) {
    reply.retry_after = std::max(error.retry_after, std::chrono::seconds(1));
  }
  return reply;
}

Reply method_not_allowed(std::string_view allow) {
  Reply reply = error_reply(make_error(ErrorCode::kInvalidArgument, "method_not_allowed",
                                       "this path takes " + std::string(allow)),
                            405);
  reply.allow = allow;
  return reply;
}

Reply unknown_path() {
  return error_reply(
      make_error(ErrorCode::kNotFound, "unknown_path", "this server has no such path"));
}

std::variant<MatchedRoute, Reply> match_route(std::string_view method, std::string_view target) {
  if (needs_admin_key(target)) return match_admin_route(method, target);
  const std::string_view path = path_of(target);
  const bool reads = method == "GET" || method == "HEAD";
  for (const RouteRow& row : kRoutes) {
    if (path != row.path) continue;
    if (row.is_post ? method != "POST" : !reads) {
      return method_not_allowed(row.is_post ? "POST" : kReadMethods);
    }
    return MatchedRoute{row.route, {}};
  }
  if (path.starts_with(kModelPrefix) && path.size() > kModelPrefix.size()) {
    if (!reads) return method_not_allowed(kReadMethods);
    return MatchedRoute{Route::kModel, percent_decode(path.substr(kModelPrefix.size()))};
  }
  return match_files_route(method, path);
}

bool needs_key(std::string_view target) {
  return target.starts_with("/v1/");
}

std::string_view bearer_key(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size() ||
      !equals_ignoring_case(authorization.substr(0, kScheme.size()), kScheme)) {
    return {};
  }
  authorization.remove_prefix(kScheme.size());
  authorization.remove_prefix(std::min(authorization.find_first_not_of(' '), authorization.size()));
  return authorization;
}

std::optional<Reply> refuse_framing(const BodyHead& head, std::size_t bytes_max) {
  if (head.other_transfer_encoding || (head.chunked && head.content_length)) {
    return closing(make_error(ErrorCode::kInvalidArgument, "malformed_http",
                              "a body has either a Content-Length or is exactly chunked"));
  }
  if (!head.chunked && !head.content_length) {
    return closing(make_error(ErrorCode::kInvalidArgument, "length_required",
                              "the request has neither a Content-Length nor a chunked body"),
                   411);
  }
  if (head.content_length && *head.content_length > bytes_max) {
    return closing(make_error(ErrorCode::kTooLarge, "body_too_large",
                              "the body has " + std::to_string(*head.content_length) +
                                  " bytes, the limit is " + std::to_string(bytes_max)));
  }
  if (!head.content_encoding.empty() && !equals_ignoring_case(head.content_encoding, "identity")) {
    return closing(make_error(ErrorCode::kUnsupportedMedia, "unsupported_content_encoding",
                              "send the body without a Content-Encoding"));
  }
  return std::nullopt;
}

std::optional<Reply> refuse_body(const BodyHead& head, const Limits& limits) {
  if (auto refusal = refuse_framing(head, limits.body_bytes_max)) return refusal;
  // Asking for JSON by name also keeps web pages out: a browser sends it only after a preflight.
  const std::string_view type = head.content_type.substr(0, head.content_type.find(';'));
  const std::string_view trimmed = type.substr(0, type.find_last_not_of(' ') + 1);
  if (!equals_ignoring_case(trimmed, "application/json")) {
    return closing(make_error(ErrorCode::kUnsupportedMedia, "unsupported_content_type",
                              "send the body as 'Content-Type: application/json'"));
  }
  return std::nullopt;
}

bool says_no_store(std::string_view cache_control) {
  constexpr std::string_view kBlanks = " \t";
  while (!cache_control.empty()) {
    const std::size_t comma = cache_control.find(',');
    std::string_view directive = cache_control.substr(0, comma);
    directive.remove_prefix(std::min(directive.find_first_not_of(kBlanks), directive.size()));
    directive = directive.substr(0, directive.find_last_not_of(kBlanks) + 1);
    if (equals_ignoring_case(directive, "no-store")) return true;
    if (comma == std::string_view::npos) break;
    cache_control.remove_prefix(comma + 1);
  }
  return false;
}

std::string models_json(std::string_view model_name, std::int64_t created_seconds) {
  JsonWriter json;
  json.begin_object().key("object").text("list").key("data").begin_array();
  write_model(json, model_name, created_seconds);
  json.end_array().end_object();
  return std::move(json).take();
}

std::string model_json(std::string_view model_name, std::int64_t created_seconds) {
  JsonWriter json;
  write_model(json, model_name, created_seconds);
  return std::move(json).take();
}

}  // namespace tessera::api
