// Bytes of one media file on their way into a memfd, which is sealed when they are all there. How
// many may come, and what an error is called, is for the caller to say.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "core/request.h"

namespace tessera {

/// @thread one writer
class MediaWriter {
 public:
  /// @return  false when there is no descriptor or no memory; the writer is of no more use
  [[nodiscard]] bool write(std::string_view bytes);

  std::size_t size_bytes() const { return media_.size_bytes; }

  /// The file, sealed against every change, its offset at the start. Call once, with size_bytes() >
  /// 0.
  /// @return  nothing when it cannot be sealed
  std::optional<EncodedMedia> finish();

 private:
  EncodedMedia media_;
};

}  // namespace tessera
