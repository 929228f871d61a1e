// The common end of every codec: takes stored rows in whatever layout the file has and writes
// oriented 8-bit sRGB. Per row: colour → sRGB, alpha over white, then the row's path through the
// oriented image.
//
// Writes only inside the span it was given, whatever a codec does.
// @thread one thread
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/image.h"
#include "media/codecs/color.h"
#include "media/codecs/orientation.h"

namespace tessera::media {

struct PixelLayout {
  ColorModel model = ColorModel::kRgb;
  bool has_alpha = false;  // last channel; straight, not premultiplied
  int n_channels() const { return tessera::media::n_channels(model) + (has_alpha ? 1 : 0); }
};

class PixelWriter {
 public:
  /// @param out  ≥ stored.pixels() · 3 bytes
  PixelWriter(ImageSize stored, Orientation orientation, std::span<std::uint8_t> out);

  /// Once, before the first row.
  void begin(PixelLayout layout, std::span<const std::uint8_t> icc);

  /// In any order; a row may be written again. Never throws.
  /// @param y    0 ≤ y < stored height; others are ignored
  /// @param row  [stored width][n_channels] u8
  void write_row(int y, const std::uint8_t* row) noexcept;

  ImageSize stored() const { return stored_; }

 private:
  const std::uint8_t* to_rgb(const std::uint8_t* row);

  ImageSize stored_;
  Orientation orientation_;
  std::span<std::uint8_t> out_;
  PixelLayout layout_;
  std::optional<ColorConverter> color_;
  std::vector<std::uint8_t> opaque_row_;  // colour channels without alpha
  std::vector<std::uint8_t> rgb_row_;
};

}  // namespace tessera::media
