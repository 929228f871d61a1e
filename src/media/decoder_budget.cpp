#include "media/decoder_budget.h"

#include <algorithm>

namespace tessera::media {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kPixelsPerMegapixel = 1'000'000;

/// libde265 takes 90 to 250 ms a megapixel, where the slowest image format takes 50.
constexpr int kHeifSlowness = 4;

/// H.264 at 1080p takes 3 ms a megapixel, VP9 and HEVC 4, AV1 with film grain 6.
constexpr int kVideoSpeed = 10;

/// Heap and libraries of each class, apart from pictures.
constexpr std::uint64_t kImageFixed = 256 * kMiB;
constexpr std::uint64_t kHeifFixed = 512 * kMiB;
constexpr std::uint64_t kVideoFixed = 2048 * kMiB;

/// A pixel costs at most 3 bytes in the output and 8 in the decoder (four 16-bit coefficients of a
/// progressive CMYK JPEG; a 16-bit HEIC of 4:4:4 with alpha); twice that leaves room for the
/// libraries' own rows. 40 megapixels: 840 MiB.
constexpr std::uint64_t kBytesPerPixel = std::uint64_t{2} * (3 + 8);

std::uint64_t picture_bytes(const Limits& limits) {
  constexpr std::int64_t kPixelsMax = std::int64_t{1} << 40U;  // keeps the product in range
  return kBytesPerPixel * static_cast<std::uint64_t>(
                              std::clamp(limits.image_pixels_max, kPixelsPerMegapixel, kPixelsMax));
}

milliseconds for_pixels(milliseconds per_megapixel, std::int64_t pixels) {
  return per_megapixel * (pixels / kPixelsPerMegapixel + 1);
}

}  // namespace

std::uint64_t address_space_bytes(DecoderClass decoder_class, const Limits& limits) {
  switch (decoder_class) {
    case DecoderClass::kImage:
      return kImageFixed + limits.image_bytes_max + picture_bytes(limits);
    case DecoderClass::kVideo:
      return kVideoFixed + limits.video_bytes_max;
    case DecoderClass::kHeif:
      return kHeifFixed + limits.image_bytes_max + picture_bytes(limits);
  }
  return 0;
}

std::uint64_t cpu_seconds(DecoderClass decoder_class, const DecoderOptions& options,
                          const Limits& limits) {
  const milliseconds per_megapixel = options.timeout_per_megapixel;
  milliseconds longest = 2 * options.base_timeout;
  switch (decoder_class) {
    case DecoderClass::kImage:
      longest += for_pixels(per_megapixel, limits.request_pixels_max);
      break;
    case DecoderClass::kVideo:
      longest += for_pixels(per_megapixel, limits.video_pixels_max) / kVideoSpeed +
                 for_pixels(per_megapixel, limits.request_pixels_max);
      break;
    case DecoderClass::kHeif:
      longest += kHeifSlowness * for_pixels(per_megapixel, limits.request_pixels_max);
      break;
  }
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(longest).count());
}

milliseconds decode_time(const DecoderOptions& options, std::span<const ProbedImage> probed) {
  milliseconds time = options.base_timeout;
  for (const ProbedImage& item : probed) {
    const std::int64_t pixels = item.size.pixels();
    const milliseconds passed = for_pixels(options.timeout_per_megapixel, pixels * item.n_passed);
    switch (class_of(item.format)) {
      case DecoderClass::kImage:
        time += passed;
        break;
      case DecoderClass::kVideo:
        time +=
            passed / kVideoSpeed + for_pixels(options.timeout_per_megapixel, pixels * item.n_shown);
        break;
      case DecoderClass::kHeif:
        time += kHeifSlowness * passed;
        break;
    }
  }
  return time;
}

}  // namespace tessera::media
