#include "api/error_response.h"

#include "api/json_writer.h"
#include "core/check.h"

namespace tessera::api {
namespace {

constexpr std::array<ErrorRow, kErrorCodeCount> kTable{{
    {ErrorCode::kInvalidArgument, 400, "invalid_request_error",
     "Change the request: `param` names the field at fault."},
    {ErrorCode::kUnauthenticated, 401, "invalid_request_error",
     "Send a valid key as `Authorization: Bearer KEY`."},
    {ErrorCode::kNotFound, 404, "invalid_request_error",
     "Ask for something that exists: `GET /v1/models` lists the models."},
    {ErrorCode::kUnsupportedMedia, 415, "invalid_request_error",
     "Send another format: images as JPEG, PNG, WebP, GIF or AVIF, bodies as plain JSON."},
    {ErrorCode::kUnprocessableMedia, 422, "invalid_request_error",
     "Send another file, or the same picture saved again by another program."},
    {ErrorCode::kTooLarge, 413, "invalid_request_error",
     "Send less: the message says the value and the limit."},
    {ErrorCode::kResourceExhausted, 429, "rate_limit_error",
     "Retry after the seconds in `Retry-After`."},
    {ErrorCode::kDeadlineExceeded, 504, "server_error",
     "Retry when the server is less busy, or ask for less output."},
    {ErrorCode::kCancelled, 499, "request_cancelled",
     "Nothing: the client itself went away, so nobody reads this."},
    {ErrorCode::kUnavailable, 503, "server_error",
     "Retry: the server is starting, stopping or restarting a part of itself."},
    {ErrorCode::kInternal, 500, "server_error",
     "Report it with the answer's `x-request-id`; a retry may work."},
}};

}  // namespace

const std::array<ErrorRow, kErrorCodeCount>& error_table() {
  return kTable;
}

const ErrorRow& error_row(ErrorCode code) {
  for (const ErrorRow& row : kTable) {
    if (row.code == code) return row;
  }
  TSR_BUG("an error code without a row");
  return kTable.back();
}

std::string error_json(const Error& error) {
  JsonWriter json;
  json.begin_object().key("error").begin_object();
  json.key("message").text(error.message);
  json.key("type").text(error_row(error.code).type);
  json.key("param");
  if (error.param.empty()) {
    json.null();
  } else {
    json.text(error.param);
  }
  json.key("code").text(error.reason);
  json.end_object().end_object();
  return std::move(json).take();
}

std::string errors_markdown() {
  std::string text = "| HTTP | `error.type` | internal code | what to do |\n|---|---|---|---|\n";
  for (const ErrorRow& row : kTable) {
    text += "| " + std::to_string(row.http_status) + " | `" + std::string(row.type) + "` | `" +
            std::string(to_string(row.code)) + "` | " + std::string(row.advice) + " |\n";
  }
  return text;
}

}  // namespace tessera::api
