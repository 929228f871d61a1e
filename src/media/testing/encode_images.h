// Image files made on the spot, so that no binary lies in the repository. For tests only.
// @thread any; no shared state
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/image.h"
#include "core/request.h"

namespace tessera::media::testing {

using ByteVector = std::vector<std::uint8_t>;

/// Rows without padding; n_channels and bit depth as the function says.
struct Raster {
  ImageSize size;
  ByteVector bytes;
};

struct PngOptions {
  int color_type = 2;  // PNG's: 0 grey, 2 RGB, 3 palette, 4 grey + alpha, 6 RGBA
  int bit_depth = 8;   // rows are packed as PNG packs them; 16 bits big-endian
  bool interlaced = false;
  ByteVector palette_rgb;                        // [n][3], for colour type 3
  ByteVector palette_alpha;                      // tRNS of a palette
  std::vector<std::uint16_t> transparent_color;  // tRNS of grey (1) or RGB (3)
  ByteVector exif;
  ByteVector icc;
};
ByteVector encode_png(const Raster& raster, const PngOptions& options = {});

struct JpegOptions {
  int n_channels = 3;  // 1 grey, 3 RGB, 4 CMYK as stored (inverted when Adobe's)
  int quality = 95;
  bool progressive = false;
  bool adobe_marker = true;  // only for CMYK
  bool ycck = false;         // only for CMYK
  ByteVector exif;           // with its "Exif\0\0"
  ByteVector icc;
};
ByteVector encode_jpeg(const Raster& raster, const JpegOptions& options = {});

struct WebpOptions {
  bool lossless = true;
  bool has_alpha = false;  // then rows are RGBA
  ByteVector exif;
  ByteVector icc;
};
ByteVector encode_webp(const Raster& raster, const WebpOptions& options = {});

/// One frame of a picture that moves.
struct MovingFrame {
  Raster raster;  // GIF: palette indices; WebP: RGBA
  int left = 0;   // WebP: even
  int top = 0;
  int disposal = 0;         // GIF's: 2 = to the background, 3 = to what was there before; WebP: 2
  int transparent = -1;     // GIF: palette index
  bool interlaced = false;  // GIF
  bool covers = false;      // WebP: replaces what lies under it instead of blending
};
ByteVector encode_webp_frames(ImageSize canvas, std::span<const MovingFrame> frames);

/// @param palette_rgb  [2^k][3]
ByteVector encode_gif_frames(ImageSize canvas, const ByteVector& palette_rgb,
                             std::span<const MovingFrame> frames, bool local_palettes = false);

/// An animation whose first frame is `raster` (RGBA) at an even offset of the canvas.
ByteVector encode_webp_animation(const Raster& raster, ImageSize canvas, int left, int top,
                                 int n_frames = 2);

struct GifOptions {
  ImageSize canvas;  // 0×0 = the frame's size
  int left = 0;
  int top = 0;
  int transparent = -1;  // palette index
  bool interlaced = false;
  bool local_palette = false;
  int n_frames = 1;        // later frames are filled with index 0
  ByteVector palette_rgb;  // [2^k][3]
};
/// @param raster  palette indices
ByteVector encode_gif(const Raster& raster, const GifOptions& options);

/// A smooth picture with different corners, so that orientations can be told apart.
Raster gradient(ImageSize size);

/// x265 keeps a few tables when an encoder of its own is closed. Before one is opened; that it is
/// called is what links the words that LeakSanitizer reads.
void allow_leaks_of_x265();

/// Bytes in an unsealed memfd.
EncodedMedia to_media(std::span<const std::uint8_t> bytes);

}  // namespace tessera::media::testing
