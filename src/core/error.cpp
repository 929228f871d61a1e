#include "core/error.h"

namespace tessera {
namespace {

constexpr std::string_view kEngineLost = "engine_lost";

/// Until a dead engine is back, mostly: reading a model from memory takes about as long.
constexpr std::chrono::seconds kEngineRetryAfter{1};

/// Between two attempts to start one that does not start.
constexpr std::chrono::seconds kEngineFailedRetryAfter{5};

}  // namespace

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kUnauthenticated:
      return "unauthenticated";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kUnsupportedMedia:
      return "unsupported_media";
    case ErrorCode::kUnprocessableMedia:
      return "unprocessable_media";
    case ErrorCode::kTooLarge:
      return "too_large";
    case ErrorCode::kResourceExhausted:
      return "resource_exhausted";
    case ErrorCode::kDeadlineExceeded:
      return "deadline_exceeded";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

Error engine_lost_error() {
  Error error = make_error(ErrorCode::kUnavailable, std::string(kEngineLost),
                           "the process that runs the model ended during this request; send the "
                           "request again");
  error.retry_after = kEngineRetryAfter;
  return error;
}

bool is_engine_lost(const Error& error) {
  return error.reason == kEngineLost;
}

Error engine_unavailable_error() {
  Error error = make_error(ErrorCode::kUnavailable, "engine_unavailable",
                           "the process that runs the model does not start");
  error.retry_after = kEngineFailedRetryAfter;
  return error;
}

}  // namespace tessera
