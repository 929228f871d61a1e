// A decoded picture → 8-bit sRGB of the asked size: libswscale to full-size RGB by the stream's own
// matrix and range, then the same rows as every image takes (media/codecs/pixel_writer.h).
// @thread one thread at a time
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "media/codecs/codec.h"
#include "media/video/libav.h"

namespace tessera::media::video {

class PictureWriter {
 public:
  /// @param stored  the size that every picture must have
  PictureWriter(ImageSize stored, Orientation orientation, ImageSize target)
      : stored_(stored), orientation_(orientation), target_(target) {}

  /// @param out  target.pixels() · 3 bytes
  /// @return     kUnsupportedVariant for a picture of another size or an unknown layout
  MediaError write(const AVFrame& picture, std::span<std::uint8_t> out);

 private:
  MediaError convert(const AVFrame& picture);

  ImageSize stored_;
  Orientation orientation_;
  ImageSize target_;
  AvPtr<SwsContext> scaler_;
  int format_ = -1;  // that the scaler is for
  std::vector<std::uint8_t> rgb_;
};

/// True for a matrix that is named, or by size for one that is not: high definition is BT.709.
bool is_high_definition(ImageSize size);

}  // namespace tessera::media::video
