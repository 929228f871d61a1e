#include "api/files_routes.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "api/json_writer.h"

namespace tessera::api {
namespace {

constexpr std::string_view kPath = "/v1/files";

// What OpenAI's own clients send for files that a model is to look at.
constexpr std::array<std::string_view, 2> kPurposes{"vision", "user_data"};

Reply closing(Error error) {
  Reply reply = error_reply(error);
  reply.close = true;
  return reply;
}

void write_file(JsonWriter& json, const uploads::UploadInfo& info, std::int64_t now_seconds) {
  json.begin_object().key("id").text(info.id).key("object").text("file");
  json.key("bytes").number(static_cast<std::int64_t>(info.size_bytes));
  // One from the other: they are rounded together, and an object does not change.
  const std::int64_t expires_at = now_seconds + info.expires_in.count();
  json.key("created_at").number(expires_at - info.time_to_live.count());
  json.key("expires_at").number(expires_at);
  json.key("filename").text("").key("purpose").text("vision").key("status").text("processed");
  json.end_object();
}

std::string list_json(std::span<const uploads::UploadInfo> infos, std::int64_t now_seconds) {
  JsonWriter json;
  json.begin_object().key("object").text("list").key("data").begin_array();
  for (const uploads::UploadInfo& info : infos) write_file(json, info, now_seconds);
  json.end_array().key("has_more").boolean(false);
  if (!infos.empty()) {
    json.key("first_id").text(infos.front().id).key("last_id").text(infos.back().id);
  }
  json.end_object();
  return std::move(json).take();
}

std::string deleted_json(std::string_view id) {
  JsonWriter json;
  json.begin_object().key("id").text(id).key("object").text("file");
  json.key("deleted").boolean(true).end_object();
  return std::move(json).take();
}

}  // namespace

std::variant<MatchedRoute, Reply> match_files_route(std::string_view method,
                                                    std::string_view path) {
  const bool reads = method == "GET" || method == "HEAD";
  if (path == kPath) {
    if (method == "POST") return MatchedRoute{Route::kFileUpload, {}};
    if (reads) return MatchedRoute{Route::kFileList, {}};
    return method_not_allowed("GET, HEAD, POST");
  }
  if (!path.starts_with(kPath) || path[kPath.size()] != '/') return unknown_path();
  const std::string_view id = path.substr(kPath.size() + 1);
  // What lies below a file, like its content, does not exist here.
  if (id.empty() || id.find('/') != std::string_view::npos) return unknown_path();
  if (reads) return MatchedRoute{Route::kFile, std::string(id)};
  if (method == "DELETE") return MatchedRoute{Route::kFileDelete, std::string(id)};
  return method_not_allowed("GET, HEAD, DELETE");
}

std::optional<Reply> refuse_upload(const BodyHead& head, std::string_view origin,
                                   std::size_t file_bytes_max) {
  // A form is what any web page may send to a server on its visitor's machine without asking;
  // unlike programs, a browser says then where it comes from.
  if (!origin.empty()) {
    return closing(make_error(ErrorCode::kInvalidArgument, "origin_not_allowed",
                              "files are not taken from web pages (the request has an Origin)"));
  }
  return refuse_framing(head, file_bytes_max + kFormBytesMax);
}

Result<void> check_purpose(std::string_view purpose) {
  if (purpose.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "missing_field", "'purpose' is missing",
                      "purpose");
  }
  if (std::ranges::find(kPurposes, purpose) == kPurposes.end()) {
    return make_error(ErrorCode::kInvalidArgument, "invalid_value",
                      "'purpose' must be vision or user_data", "purpose");
  }
  return {};
}

Reply files_reply(uploads::UploadStore& store, const MatchedRoute& matched, TenantId tenant,
                  std::int64_t now_seconds) {
  Reply reply;
  if (matched.route == Route::kFileList) {
    reply.body = list_json(store.list(tenant), now_seconds);
  } else if (matched.route == Route::kFile) {
    const auto info = store.find(tenant, matched.id);
    if (!info) return error_reply(info.error());
    reply.body = file_json(*info, now_seconds);
  } else {
    const auto removed = store.remove(tenant, matched.id);
    if (!removed) return error_reply(removed.error());
    reply.body = deleted_json(matched.id);
  }
  return reply;
}

std::string file_json(const uploads::UploadInfo& info, std::int64_t now_seconds) {
  JsonWriter json;
  write_file(json, info, now_seconds);
  return std::move(json).take();
}

}  // namespace tessera::api
