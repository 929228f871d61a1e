// The one error type. A code says what the caller should do next, a reason is the stable word that
// clients match on, the message says what, the value and the limit.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace tessera {

/// Chosen by what the caller does next; mapped to HTTP in one table (api/error_response.h).
enum class ErrorCode {
  kInvalidArgument,     // fix the request
  kUnauthenticated,     // present a valid key
  kNotFound,            // ask for something that exists
  kUnsupportedMedia,    // send another format
  kUnprocessableMedia,  // send another file: this one stops the decoder
  kTooLarge,            // send less
  kResourceExhausted,   // retry later
  kDeadlineExceeded,    // retry with more time, or ask for less
  kCancelled,           // nobody waits any more
  kUnavailable,         // retry: the server is starting, stopping or restarting a part
  kInternal,            // report it
};

inline constexpr int kErrorCodeCount = 11;

/// "invalid_argument", … ; stable.
std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  /// Stable, snake_case, from a closed set (docs/errors.md); e.g. "context_length_exceeded".
  std::string reason;
  /// For people. Never holds prompt text, media bytes, paths or a native library's words.
  std::string message;
  /// The request field at fault, e.g. "messages[0].content[1].image_url.url"; may be empty.
  std::string param;
  /// When a retry may succeed; zero = unknown.
  std::chrono::seconds retry_after{0};
};

inline Error make_error(ErrorCode code, std::string reason, std::string message,
                        std::string param = {}) {
  return Error{code, std::move(reason), std::move(message), std::move(param), {}};
}

/// The process that holds the model died under this request. From its first output token on that
/// is the end of it; before, it is done again (InFlight::allow_redo).
Error engine_lost_error();
bool is_engine_lost(const Error& error);

/// That process does not start, again and again.
Error engine_unavailable_error();

/// What every request gets that a shutdown ends.
inline Error shutting_down_error() {
  return make_error(ErrorCode::kUnavailable, "shutting_down", "the server is shutting down");
}

}  // namespace tessera
