// What this server accepts over HTTP, as pure functions of a request's head: routes, methods, keys,
// and what a body may look like before any of it is read.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/error.h"
#include "core/limits.h"

namespace tessera::api {

enum class Route {
  kChat,
  kVisualPlan,
  kModels,
  kModel,
  kFileUpload,
  kFileList,
  kFile,
  kFileDelete,
  kHealth,
  kReady,
  kMetrics,
  kCacheReport,
  kCachePurge,
};

struct MatchedRoute {
  Route route;
  // of a model, percent-decoded; of a file, as it stands in the path; of a purge, its query
  std::string id;
};

/// A whole answer, still without the fields that every answer has.
struct Reply {
  int status = 200;
  std::string body;
  std::string_view content_type = "application/json";
  std::string_view allow;               // `Allow`, with a 405
  std::chrono::seconds retry_after{0};  // `Retry-After`; 0 = none
  bool close = false;                   // the connection must not be used again
  std::optional<Error> error;           // what `body` says, for log and metrics
};

/// The status comes from error_table(), unless HTTP has a more exact one.
Reply error_reply(const Error& error, std::optional<int> status = std::nullopt);

/// 405, with the methods that the path takes.
Reply method_not_allowed(std::string_view allow);

/// 404: what a path gets that this server does not have.
Reply unknown_path();

/// @return  404 and 405 as replies
std::variant<MatchedRoute, Reply> match_route(std::string_view method, std::string_view target);

/// "%2F" and the like become what they stand for; anything else stays.
std::string percent_decode(std::string_view text);

/// Whether a value of `Cache-Control` has the directive no-store (RFC 9111, 5.2).
bool says_no_store(std::string_view cache_control);

/// Under /v1: asks for a key, where there are keys.
bool needs_key(std::string_view target);

/// The key in `Authorization: Bearer KEY`; empty when there is none.
std::string_view bearer_key(std::string_view authorization);

struct BodyHead {
  std::optional<std::uint64_t> content_length;
  bool chunked = false;
  bool other_transfer_encoding = false;  // any Transfer-Encoding but exactly "chunked"
  std::string_view content_type;
  std::string_view content_encoding;
};

/// Whether a body of any type may be read at all.
/// @return  the refusal; the connection closes with it, because the body stays unread
std::optional<Reply> refuse_framing(const BodyHead& head, std::size_t bytes_max);

/// The same for the body of a chat request.
std::optional<Reply> refuse_body(const BodyHead& head, const Limits& limits);

/// GET /v1/models and /v1/models/{id}.
std::string models_json(std::string_view model_name, std::int64_t created_seconds);
std::string model_json(std::string_view model_name, std::int64_t created_seconds);

}  // namespace tessera::api
