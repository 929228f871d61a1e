// What the codecs share. Everything here reads untrusted bytes and runs in the worker only.
//
// A codec has two functions: read_<format>_header looks at structure only, allocates no raster and
// finds size, orientation and scans; decode_<format> writes rows, in order, into a PixelWriter.
// Both return errors as values; a codec library's longjmp never leaves the function that set its
// target and never crosses a C++ object with a destructor.
// @thread any; no shared state
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/image.h"
#include "media/codecs/orientation.h"
#include "media/wire.h"

namespace tessera::media {

using Bytes = std::span<const std::uint8_t>;
using wire::MediaError;

/// Metadata is a correction, not content: beyond these sizes it counts as absent instead of
/// refusing the image.
inline constexpr std::size_t kIccBytesMax = std::size_t{4} << 20U;    // real profiles: ≤ 2 MiB
inline constexpr std::size_t kExifBytesMax = std::size_t{64} * 1024;  // JPEG's own ceiling

/// What a file's structure says before any pixel is decoded.
struct ImageHeader {
  MediaError error = MediaError::kNone;  // with an error, size and scans hold what was found
  MediaFormat format{};
  ImageSize stored;  // as the rows lie in the file, before orientation
  Orientation orientation = Orientation::kUpright;
  std::int32_t n_scans = 1;

  ImageSize oriented() const { return tessera::media::oriented(stored, orientation); }
};

inline ImageHeader refused(MediaFormat format, MediaError error) {
  ImageHeader header;
  header.error = error;
  header.format = format;
  return header;
}

}  // namespace tessera::media
