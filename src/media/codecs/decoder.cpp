#include "media/codecs/decoder.h"

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
  ImageHeader (*read_header)(Bytes file);
  MediaError (*decode)(Bytes file, PixelWriter& writer);
};

Codec codec_for(MediaFormat format) {
  switch (format) {
    case MediaFormat::kJpeg:
      return {read_jpeg_header, decode_jpeg};
    case MediaFormat::kPng:
      return {read_png_header, decode_png};
    case MediaFormat::kWebp:
      return {read_webp_header, decode_webp};
    case MediaFormat::kGif:
      return {read_gif_header, decode_gif};
    case MediaFormat::kAvif:
      return {read_avif_header, decode_avif};
  }
  return {};
}

ImageHeader probe(Bytes file, const wire::ImageLimits& limits) {
  const auto format = decodable(sniff_format(std::as_bytes(file)));
  if (!format) return refused(MediaFormat{}, MediaError::kUnsupportedFormat);
  ImageHeader header = codec_for(*format).read_header(file);
  if (header.error == MediaError::kNone) header.error = check_size(header.stored, limits);
  if (header.error == MediaError::kNone) header.error = check_scans(header.stored, header.n_scans);
  return header;
}

}  // namespace

ImageHeader probe_image(Bytes file, const wire::ImageLimits& limits) noexcept {
  try {
    return probe(file, limits);
  } catch (const std::bad_alloc&) {
    return refused(MediaFormat{}, MediaError::kOutOfMemory);
  } catch (...) {
    return refused(MediaFormat{}, MediaError::kWorkerFailed);
  }
}

MediaError decode_image(Bytes file, const wire::ImageLimits& limits, ImageSize target,
                        std::span<std::uint8_t> out) noexcept {
  try {
    const ImageHeader header = probe(file, limits);
    if (header.error != MediaError::kNone) return header.error;
    const ImageSize whole = header.oriented();
    const bool fits = target.width >= 1 && target.width <= whole.width && target.height >= 1 &&
                      target.height <= whole.height;
    if (!fits || out.size() != rgb_bytes(target)) return MediaError::kWorkerFailed;
    PixelWriter writer(header.stored, header.orientation, target, out);
    return codec_for(header.format).decode(file, writer);
  } catch (const std::bad_alloc&) {
    return MediaError::kOutOfMemory;
  } catch (...) {
    return MediaError::kWorkerFailed;
  }
}

}  // namespace tessera::media
