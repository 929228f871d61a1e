// The common end of every codec: takes rows in whatever layout the file has and writes 8-bit sRGB
// of the asked size. Per row: colour → sRGB, alpha over white, resample, then the row's path
// through the oriented image.
//
// Rows stream: beside the output there is never more than a few rows (resample.h). Writes only
// inside the span it was given, whatever a codec does.
// @thread one thread
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/image.h"
#include "media/codecs/color.h"
#include "media/codecs/orientation.h"
#include "media/codecs/resample.h"

namespace tessera::media {

struct PixelLayout {
  ColorModel model = ColorModel::kRgb;
  bool has_alpha = false;  // last channel; straight, not premultiplied
  int n_channels() const { return tessera::media::n_channels(model) + (has_alpha ? 1 : 0); }
};

/// What a codec delivers of a picture that it can decode at a fraction of its size: rows of
/// ⌈stored · numerator / 8⌉ pixels.
struct DecodeScale {
  int numerator = 8;  // 1 ≤ numerator ≤ 8
  int length(int stored) const { return (stored * numerator + 7) / 8; }
};

class PixelWriter {
 public:
  /// @param target  after orientation; no side longer than the stored picture's, when oriented
  /// @param out     ≥ target.pixels() · 3 bytes
  PixelWriter(ImageSize stored, Orientation orientation, ImageSize target,
              std::span<std::uint8_t> out);

  /// Once, before the first row.
  /// @param scale  delivers no side shorter than stored_target()'s
  void begin(PixelLayout layout, std::span<const std::uint8_t> icc, DecodeScale scale = {});

  /// Rows in order, from the top. Rows too many are ignored. Never throws.
  /// @param row  [delivered width][n_channels] u8
  void write_row(const std::uint8_t* row) noexcept;

  ImageSize stored() const { return stored_; }

  /// The target as the stored rows see it, before orientation.
  ImageSize stored_target() const { return stored_target_; }

 private:
  void begin_resampling(DecodeScale scale);
  const std::uint8_t* to_rgb(const std::uint8_t* row);
  void place(const std::uint8_t* rgb);

  ImageSize stored_;
  Orientation orientation_;
  ImageSize stored_target_;
  std::span<std::uint8_t> out_;
  ImageSize delivered_;
  PixelLayout layout_;
  std::optional<ColorConverter> color_;
  std::optional<Resampler> resampler_;    // absent: delivered as wanted
  std::vector<std::uint8_t> opaque_row_;  // colour channels without alpha
  std::vector<std::uint8_t> rgb_row_;
  int n_written_ = 0;  // rows
  int n_placed_ = 0;   // rows of the target
};

}  // namespace tessera::media
