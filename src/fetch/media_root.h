// `file:` URLs → memfds, under one folder of the operator's and nowhere else.
//
// The folder is the root of what a URL can name: file:///cats/1.png is cats/1.png below it, so that
// no client learns where it lies. The kernel keeps the walk inside (openat2 with RESOLVE_BENEATH),
// without symbolic links and without /proc's magic ones. A file is copied: what the request was
// admitted with cannot change while it is decoded.
// @thread any; immutable
#pragma once

#include <cstddef>
#include <string>

#include "core/request.h"
#include "core/result.h"
#include "core/unique_fd.h"
#include "fetch/url.h"

namespace tessera::fetch {

class MediaRoot {
 public:
  /// @param path  of a folder
  /// @errors      not_found `media_root_not_found`
  static Result<MediaRoot> open(const std::string& path);

  /// @param index      of the URL in its request, for messages
  /// @param bytes_max  of the file
  /// @return  a sealed memfd, not empty
  /// @errors  invalid_argument `media_url_unavailable` (no such URL, no regular file, empty);
  ///          too_large `media_url_too_large`; unavailable (no memory, no descriptor)
  Result<EncodedMedia> read(const RedactedUrl& url, std::size_t index, std::size_t bytes_max) const;

 private:
  explicit MediaRoot(UniqueFd folder) : folder_(std::move(folder)) {}

  UniqueFd folder_;  // O_PATH
};

}  // namespace tessera::fetch
