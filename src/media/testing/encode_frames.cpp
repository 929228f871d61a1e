// WebP and GIF, the formats with frames on a canvas.
#include <gif_lib.h>
#include <webp/encode.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/check.h"
#include "media/testing/encode_images.h"

namespace tessera::media::testing {
namespace {

void put_little(ByteVector& out, std::size_t value, int n_bytes) {
  for (int i = 0; i < n_bytes; ++i) {
    out.push_back(static_cast<std::uint8_t>(value >> (8U * static_cast<unsigned>(i))));
  }
}

void put_riff_chunk(ByteVector& out, std::string_view type, const ByteVector& data) {
  out.insert(out.end(), type.begin(), type.end());
  put_little(out, data.size(), 4);
  out.insert(out.end(), data.begin(), data.end());
  if (data.size() % 2 != 0) out.push_back(0);
}

ByteVector riff(const ByteVector& chunks) {
  ByteVector out{'R', 'I', 'F', 'F'};
  put_little(out, chunks.size() + 4, 4);
  for (const char c : std::string_view("WEBP")) out.push_back(static_cast<std::uint8_t>(c));
  out.insert(out.end(), chunks.begin(), chunks.end());
  return out;
}

/// The bitstream chunks of a still WebP, without the RIFF header.
ByteVector bitstream(const Raster& raster, const WebpOptions& options) {
  const int stride = raster.size.width * (options.has_alpha ? 4 : 3);
  const int w = raster.size.width;
  const int h = raster.size.height;
  const std::uint8_t* pixels = raster.bytes.data();
  std::uint8_t* memory = nullptr;
  std::size_t n_bytes = 0;
  if (options.lossless) {
    n_bytes = options.has_alpha ? WebPEncodeLosslessRGBA(pixels, w, h, stride, &memory)
                                : WebPEncodeLosslessRGB(pixels, w, h, stride, &memory);
  } else {
    n_bytes = options.has_alpha ? WebPEncodeRGBA(pixels, w, h, stride, 95, &memory)
                                : WebPEncodeRGB(pixels, w, h, stride, 95, &memory);
  }
  TSR_CHECK(n_bytes > 12);
  ByteVector out(memory + 12, memory + n_bytes);
  WebPFree(memory);
  // A lossy file with alpha has a VP8X chunk of its own; ours or none takes its place.
  if (std::memcmp(out.data(), "VP8X", 4) == 0) out.erase(out.begin(), out.begin() + 18);
  return out;
}

ByteVector canvas_chunk(std::uint8_t flags, ImageSize canvas) {
  ByteVector data{flags, 0, 0, 0};
  put_little(data, static_cast<std::size_t>(canvas.width - 1), 3);
  put_little(data, static_cast<std::size_t>(canvas.height - 1), 3);
  return data;
}

int append_gif(GifFileType* gif, const GifByteType* data, int n) {
  auto* out = static_cast<ByteVector*>(gif->UserData);
  out->insert(out->end(), data, data + n);
  return n;
}

/// @param local  null = the file's own palette
void put_gif_frame(GifFileType* gif, const MovingFrame& frame, ColorMapObject* local) {
  const Raster& raster = frame.raster;
  if (frame.transparent >= 0 || frame.disposal != DISPOSAL_UNSPECIFIED) {
    GraphicsControlBlock control{frame.disposal, false, 0, frame.transparent};
    std::uint8_t block[4];
    EGifGCBToExtension(&control, block);
    EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, 4, block);
  }
  const int w = raster.size.width;
  EGifPutImageDesc(gif, frame.left, frame.top, w, raster.size.height, frame.interlaced, local);
  const auto put_row = [&](int y) {
    EGifPutLine(gif, const_cast<GifPixelType*>(raster.bytes.data() + std::ptrdiff_t{y} * w), w);
  };
  if (!frame.interlaced) {
    for (int y = 0; y < raster.size.height; ++y) put_row(y);
    return;
  }
  constexpr int kSweeps[4][2] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
  for (const auto& sweep : kSweeps) {
    for (int y = sweep[0]; y < raster.size.height; y += sweep[1]) put_row(y);
  }
}

}  // namespace

ByteVector encode_webp(const Raster& raster, const WebpOptions& options) {
  const ByteVector image = bitstream(raster, options);
  constexpr std::uint8_t kIcc = 0x20;
  constexpr std::uint8_t kAlpha = 0x10;
  constexpr std::uint8_t kExif = 0x08;
  std::uint8_t flags = options.has_alpha ? kAlpha : std::uint8_t{0};
  if (!options.icc.empty()) flags |= kIcc;
  if (!options.exif.empty()) flags |= kExif;
  if (flags == 0) return riff(image);

  ByteVector chunks;
  put_riff_chunk(chunks, "VP8X", canvas_chunk(flags, raster.size));
  if (!options.icc.empty()) put_riff_chunk(chunks, "ICCP", options.icc);
  chunks.insert(chunks.end(), image.begin(), image.end());
  if (!options.exif.empty()) put_riff_chunk(chunks, "EXIF", options.exif);
  return riff(chunks);
}

ByteVector encode_webp_frames(ImageSize canvas, std::span<const MovingFrame> frames) {
  constexpr std::uint8_t kAnimationWithAlpha = 0x12;
  ByteVector chunks;
  put_riff_chunk(chunks, "VP8X", canvas_chunk(kAnimationWithAlpha, canvas));
  put_riff_chunk(chunks, "ANIM", ByteVector(6));
  for (const MovingFrame& frame : frames) {
    ByteVector data;
    put_little(data, static_cast<std::size_t>(frame.left / 2), 3);
    put_little(data, static_cast<std::size_t>(frame.top / 2), 3);
    put_little(data, static_cast<std::size_t>(frame.raster.size.width - 1), 3);
    put_little(data, static_cast<std::size_t>(frame.raster.size.height - 1), 3);
    put_little(data, 100, 3);  // milliseconds
    data.push_back(static_cast<std::uint8_t>((frame.covers ? 2 : 0) |
                                             (frame.disposal == DISPOSE_BACKGROUND ? 1 : 0)));
    const ByteVector image =
        bitstream(frame.raster, {.lossless = true, .has_alpha = true, .exif = {}, .icc = {}});
    data.insert(data.end(), image.begin(), image.end());
    put_riff_chunk(chunks, "ANMF", data);
  }
  return riff(chunks);
}

ByteVector encode_webp_animation(const Raster& raster, ImageSize canvas, int left, int top,
                                 int n_frames) {
  MovingFrame frame;
  frame.raster = raster;
  frame.left = left;
  frame.top = top;
  return encode_webp_frames(canvas,
                            std::vector<MovingFrame>(static_cast<std::size_t>(n_frames), frame));
}

ByteVector encode_gif_frames(ImageSize canvas, const ByteVector& palette_rgb,
                             std::span<const MovingFrame> frames, bool local_palettes) {
  ByteVector out;
  int code = 0;
  GifFileType* gif = EGifOpen(&out, append_gif, &code);
  TSR_CHECK(gif != nullptr);
  const int n_colors = static_cast<int>(palette_rgb.size() / 3);
  ColorMapObject* colors = GifMakeMapObject(n_colors, nullptr);
  for (int i = 0; i < n_colors; ++i) {
    const auto at = static_cast<std::size_t>(i) * 3;
    colors->Colors[i] = {palette_rgb[at], palette_rgb[at + 1], palette_rgb[at + 2]};
  }
  EGifSetGifVersion(gif, true);
  EGifPutScreenDesc(gif, canvas.width, canvas.height, 8, 0, local_palettes ? nullptr : colors);
  for (const MovingFrame& frame : frames) {
    put_gif_frame(gif, frame, local_palettes ? colors : nullptr);
  }
  EGifCloseFile(gif, &code);
  GifFreeMapObject(colors);
  return out;
}

ByteVector encode_gif(const Raster& raster, const GifOptions& options) {
  MovingFrame frame;
  frame.raster = raster;
  frame.left = options.left;
  frame.top = options.top;
  frame.transparent = options.transparent;
  frame.interlaced = options.interlaced;
  std::vector<MovingFrame> frames(static_cast<std::size_t>(options.n_frames), frame);
  for (std::size_t i = 1; i < frames.size(); ++i) {
    std::ranges::fill(frames[i].raster.bytes, std::uint8_t{0});
  }
  const ImageSize canvas = options.canvas == ImageSize{} ? raster.size : options.canvas;
  return encode_gif_frames(canvas, options.palette_rgb, frames, options.local_palette);
}

}  // namespace tessera::media::testing
