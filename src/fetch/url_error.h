// Errors about a URL of a request, whatever its scheme.
#pragma once

#include <cstddef>
#include <string>

#include "core/error.h"

namespace tessera::fetch {

/// "media URL 2", for messages: never the URL.
inline std::string url_name(std::size_t index) {
  return "media URL " + std::to_string(index + 1);
}

/// The one error for everything that the far end, or the file system, may be, do or say.
inline Error media_url_unavailable(std::size_t index) {
  return make_error(ErrorCode::kInvalidArgument, "media_url_unavailable",
                    url_name(index) + " cannot be used");
}

inline Error media_url_too_large(std::size_t index, std::size_t bytes_max) {
  return make_error(ErrorCode::kTooLarge, "media_url_too_large",
                    url_name(index) + " has more than " + std::to_string(bytes_max) + " bytes");
}

/// All of one request together.
inline Error media_urls_too_large(std::size_t bytes_max) {
  return make_error(
      ErrorCode::kTooLarge, "media_url_too_large",
      "the request's media URLs have more than " + std::to_string(bytes_max) + " bytes together");
}

}  // namespace tessera::fetch
