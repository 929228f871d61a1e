// Bytes of one image file on their way into a memfd. Bounded while they stream, sealed at the end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/media_writer.h"
#include "core/request.h"
#include "core/result.h"

namespace tessera::api {

/// @thread one writer
class MediaSink {
 public:
  /// @param bytes_max  of the whole file
  explicit MediaSink(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// @param bytes  of the file; consumed: empty afterwards
  /// @errors  too_large (image_too_large); resource_exhausted (no descriptor or no memory)
  Result<void> write(std::string& bytes);

  /// The file, sealed against every change, its offset at the start.
  /// @errors  invalid_argument (image_empty)
  Result<EncodedMedia> finish();

 private:
  std::size_t bytes_max_;
  MediaWriter file_;
};

}  // namespace tessera::api
