// Image and video files named on the command line, read into memfds as the HTTP server's are.
//
// Free functions without state; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/limits.h"
#include "core/request.h"
#include "core/result.h"

namespace tessera::cli {

/// Reads at most media_bytes_max(limits) bytes. Pipes work as well as files.
/// @return  a sealed memfd, its offset at the start
/// @errors  not_found (image_not_found); invalid_argument (image_unreadable, image_empty);
///          too_large (image_too_large). The message does not name the file.
Result<EncodedMedia> load_media_file(const std::string& path, const Limits& limits);

/// All of them, or the first error with the image's number and name in front: these messages are
/// for the terminal of the person who named the file.
/// @param n_frames  to take of each that moves; unset = the default of its kind
/// @errors  as above; too_large (too_many_images)
Result<std::vector<EncodedMedia>> load_media_files(std::span<const std::string> paths,
                                                   std::optional<int> n_frames,
                                                   const Limits& limits);

}  // namespace tessera::cli
