#include "sandbox/system_error.h"

#include <cstring>
#include <string>

namespace tessera::sandbox {

Error system_error(std::string_view call, int code) {
  const char* name = ::strerrorname_np(code);
  std::string message(call);
  message += " failed: ";
  message += name != nullptr ? std::string(name) : "errno " + std::to_string(code);
  return make_error(ErrorCode::kUnavailable, "system_call_failed", std::move(message));
}

}  // namespace tessera::sandbox
