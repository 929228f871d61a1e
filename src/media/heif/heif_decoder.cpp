#include "media/heif/heif_decoder.h"

#include <malloc.h>

#include <new>

#include "media/codecs/pixel_writer.h"
#include "media/codecs/warm_up.h"
#include "media/heif/heif_file.h"
#include "media/heif/hevc_decoder.h"
#include "media/validate.h"

namespace tessera::media::heif {
namespace {

ImageHeader read_header(Bytes file, const wire::ImageLimits& limits) {
  const auto format = decodable(sniff_format(std::as_bytes(file)));
  if (format != MediaFormat::kHeic) {
    return refused(MediaFormat{}, MediaError::kUnsupportedFormat);
  }
  ImageHeader header;
  header.format = MediaFormat::kHeic;
  // The size is ours to refuse, so that the refusal can name it: every limit that makes sense is
  // below libheif's.
  constexpr std::int64_t kPixelsMax = std::int64_t{1} << 30;
  const HeifFile heif(file, kPixelsMax);
  header.error = heif.error();
  if (header.error != MediaError::kNone) return header;
  header.stored = heif.size();
  header.error = check_size(header.stored, limits);
  return header;
}

MediaError decode(Bytes file, const wire::ImageLimits& limits, ImageSize target,
                  std::span<std::uint8_t> out) {
  const ImageHeader header = read_header(file, limits);
  if (header.error != MediaError::kNone) return header.error;
  const ImageSize size = header.stored;
  const bool fits = target.width >= 1 && target.width <= size.width && target.height >= 1 &&
                    target.height <= size.height && out.size() == rgb_bytes(target);
  if (!fits) return MediaError::kWorkerFailed;

  const HeifFile heif(file, limits.pixels_max);
  if (heif.error() != MediaError::kNone) return heif.error();
  const PictureBudget budget(heif.announced_size());
  HeifPtr<heif_image> image;
  const MediaError error = heif.decode(image);
  if (error != MediaError::kNone) return error;
  constexpr heif_channel kPlane = heif_channel_interleaved;
  int n_row_bytes = 0;
  const std::uint8_t* const rows =
      ::heif_image_get_plane_readonly(image.get(), kPlane, &n_row_bytes);
  const PixelLayout layout{ColorModel::kRgb, heif.has_alpha()};
  // What was decoded need not be what the boxes said.
  const ImageSize decoded{::heif_image_get_width(image.get(), kPlane),
                          ::heif_image_get_height(image.get(), kPlane)};
  if (rows == nullptr || decoded != size || n_row_bytes / layout.n_channels() < size.width) {
    return MediaError::kInvalid;
  }
  PixelWriter writer(size, Orientation::kUpright, target, out);
  writer.begin(layout, heif.profile(limits.icc_bytes_max));
  for (int y = 0; y < size.height; ++y) {
    writer.write_row(rows + static_cast<std::ptrdiff_t>(y) * n_row_bytes);
  }
  return MediaError::kNone;
}

}  // namespace

Decoder heif_decoder() {
  return {probe_heif, decode_heif};
}

Probe probe_heif(Bytes file, int /*n_frames_wanted*/, const wire::ImageLimits& limits) noexcept {
  try {
    return {read_header(file, limits)};
  } catch (const std::bad_alloc&) {
    return {refused(MediaFormat::kHeic, MediaError::kOutOfMemory)};
  } catch (...) {
    return {refused(MediaFormat::kHeic, MediaError::kWorkerFailed)};
  }
}

MediaError decode_heif(Bytes file, const wire::ImageLimits& limits, ImageSize target,
                       std::span<const std::uint32_t> frames,
                       std::span<std::uint8_t> out) noexcept {
  if (frames.size() != 1 || frames.front() != 0) return MediaError::kWorkerFailed;
  try {
    return decode(file, limits, target, out);
  } catch (const std::bad_alloc&) {
    return MediaError::kOutOfMemory;
  } catch (...) {
    return MediaError::kWorkerFailed;
  }
}

void warm_up_heif() {
  ::mallopt(M_ARENA_MAX, 1);
  warm_up();
  ::heif_init(nullptr);
  register_hevc_decoder();
}

}  // namespace tessera::media::heif
