// Takes every frame of a picture that moves and writes those that were asked for, one behind the
// other, as PixelWriter writes one.
// @thread one thread
#pragma once

#include <cstdint>
#include <span>

#include "media/codecs/pixel_writer.h"

namespace tessera::media {

class FrameWriter {
 public:
  /// @param target  as PixelWriter's
  /// @param frames  of the file, ascending, none twice
  /// @param out     ≥ frames.size() · target.pixels() · 3 bytes
  FrameWriter(ImageSize stored, Orientation orientation, ImageSize target,
              std::span<const std::uint32_t> frames, std::span<std::uint8_t> out);

  /// The next frame of the file.
  /// @param rgba  [stored height][stored width][4] u8, straight alpha
  void next(const std::uint8_t* rgba, std::span<const std::uint8_t> icc);

  bool is_complete() const { return n_written_ == frames_.size(); }
  ImageSize stored() const { return stored_; }

 private:
  ImageSize stored_;
  Orientation orientation_;
  ImageSize target_;
  std::span<const std::uint32_t> frames_;
  std::span<std::uint8_t> out_;
  std::uint32_t n_seen_ = 0;
  std::size_t n_written_ = 0;
};

}  // namespace tessera::media
