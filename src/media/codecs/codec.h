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
