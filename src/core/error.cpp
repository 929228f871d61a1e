#include "core/error.h"

namespace tessera {

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

}  // namespace tessera
