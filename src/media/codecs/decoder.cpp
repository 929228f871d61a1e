#include "media/codecs/decoder.h"

#include <algorithm>
#include <array>
#include <functional>
#include <new>

#include "media/codecs/avif_codec.h"
#include "media/codecs/gif_codec.h"
#include "media/codecs/jpeg_codec.h"
#include "media/codecs/pixel_writer.h"
#include "media/codecs/png_codec.h"
#include "media/codecs/webp_codec.h"
#include "media/validate.h"

namespace tessera::media {
namespace {

struct Codec {
  ImageHeader (*read_header)(Bytes file, const wire::ImageLimits& limits);
  MediaError (*decode)(Bytes file, const wire::ImageLimits& limits, PixelWriter& writer);
  // Absent where only the first frame is ever shown.
  int (*count_frames)(Bytes file, const wire::ImageLimits& limits) = nullptr;
  MediaError (*decode_frames)(Bytes file, const wire::ImageLimits& limits,
                              FrameWriter& writer) = nullptr;
};

Codec codec_for(MediaFormat format) {
  switch (format) {
    case MediaFormat::kJpeg:
      return {read_jpeg_header, decode_jpeg};
    case MediaFormat::kPng:
      return {read_png_header, decode_png};
    case MediaFormat::kWebp:
      return {read_webp_header, decode_webp, count_webp_frames, decode_webp_frames};
    case MediaFormat::kGif:
      return {read_gif_header, decode_gif, count_gif_frames, decode_gif_frames};
    case MediaFormat::kAvif:
      return {read_avif_header, decode_avif};
    case MediaFormat::kVideo:
    case MediaFormat::kHeic:
      break;  // of other classes; probe() refuses them
  }
  return {};
}

ImageHeader probe(Bytes file, const wire::ImageLimits& limits) {
  const auto format = decodable(sniff_format(std::as_bytes(file)));
  if (!format || class_of(*format) != DecoderClass::kImage) {
    return refused(MediaFormat{}, MediaError::kUnsupportedFormat);
  }
  ImageHeader header = codec_for(*format).read_header(file, limits);
  if (header.error == MediaError::kNone) header.error = check_size(header.stored, limits);
  if (header.error == MediaError::kNone)
    header.error = check_scans(header.stored, header.n_scans, limits);
  return header;
}

Probe probe_frames(Bytes file, int n_frames_wanted, const wire::ImageLimits& limits) noexcept {
  Probe found;
  found.header = probe_image(file, limits);
  if (found.header.error == MediaError::kNone && n_frames_wanted > 1) {
    const FrameCount count = count_frames(file, found.header.format, limits);
    found.header.error = count.error;
    found.n_frames = found.n_passed = count.n_frames;
  }
  return found;
}

}  // namespace

Decoder image_decoder() {
  return {probe_frames, decode_frames};
}

ImageHeader probe_image(Bytes file, const wire::ImageLimits& limits) noexcept {
  try {
    return probe(file, limits);
  } catch (const std::bad_alloc&) {
    return refused(MediaFormat{}, MediaError::kOutOfMemory);
  } catch (...) {
    return refused(MediaFormat{}, MediaError::kWorkerFailed);
  }
}

FrameCount count_frames(Bytes file, MediaFormat format, const wire::ImageLimits& limits) noexcept {
  try {
    const Codec codec = codec_for(format);
    if (codec.count_frames == nullptr) return {};
    // A first frame that is not whole is for its decoder to refuse.
    const int n_frames = std::max(codec.count_frames(file, limits), 1);
    if (n_frames > limits.frames_max) return {MediaError::kFramesTooMany, n_frames};
    return {MediaError::kNone, n_frames};
  } catch (const std::bad_alloc&) {
    return {MediaError::kOutOfMemory, 0};
  } catch (...) {
    return {MediaError::kWorkerFailed, 0};
  }
}

MediaError decode_frames(Bytes file, const wire::ImageLimits& limits, ImageSize target,
                         std::span<const std::uint32_t> frames,
                         std::span<std::uint8_t> out) noexcept {
  try {
    const ImageHeader header = probe(file, limits);
    if (header.error != MediaError::kNone) return header.error;
    const ImageSize whole = header.oriented();
    const bool fits = target.width >= 1 && target.width <= whole.width && target.height >= 1 &&
                      target.height <= whole.height;
    const bool ascends =
        !frames.empty() && std::ranges::adjacent_find(frames, std::greater_equal{}) == frames.end();
    if (!fits || !ascends || out.size() != frames.size() * rgb_bytes(target)) {
      return MediaError::kWorkerFailed;
    }
    const Codec codec = codec_for(header.format);
    if (frames.back() == 0) {
      PixelWriter writer(header.stored, header.orientation, target, out);
      return codec.decode(file, limits, writer);
    }
    if (codec.decode_frames == nullptr) return MediaError::kWorkerFailed;
    FrameWriter writer(header.stored, header.orientation, target, frames, out);
    return codec.decode_frames(file, limits, writer);
  } catch (const std::bad_alloc&) {
    return MediaError::kOutOfMemory;
  } catch (...) {
    return MediaError::kWorkerFailed;
  }
}

MediaError decode_image(Bytes file, const wire::ImageLimits& limits, ImageSize target,
                        std::span<std::uint8_t> out) noexcept {
  constexpr std::array<std::uint32_t, 1> kFirst{0};
  return decode_frames(file, limits, target, kFirst, out);
}

}  // namespace tessera::media
