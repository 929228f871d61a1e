#include "media/testing/encode_avif.h"

#include <avif/avif.h>

#include <algorithm>
#include <string_view>

#include "core/check.h"

namespace tessera::media::testing {
namespace {

/// The highest quality that is not lossless coding, which would need another colour matrix.
constexpr int kQuantizer = 1;

void set_properties(avifImage& image, const AvifOptions& options) {
  image.colorPrimaries = static_cast<avifColorPrimaries>(options.primaries);
  image.transferCharacteristics = static_cast<avifTransferCharacteristics>(options.transfer);
  image.matrixCoefficients = AVIF_MATRIX_COEFFICIENTS_BT601;
  image.yuvRange = AVIF_RANGE_FULL;
  if (!options.exif.empty()) {
    avifImageSetMetadataExif(&image, options.exif.data(), options.exif.size());
    image.transformFlags = AVIF_TRANSFORM_NONE;  // the library copied EXIF's orientation
  }
  if (options.quarter_turns != 0) {
    image.transformFlags |= AVIF_TRANSFORM_IROT;
    image.irot.angle = static_cast<std::uint8_t>(options.quarter_turns);
  }
  if (options.mirror >= 0) {
    image.transformFlags |= AVIF_TRANSFORM_IMIR;
    image.imir.mode = static_cast<std::uint8_t>(options.mirror);
  }
  if (options.cropped) {
    image.transformFlags |= AVIF_TRANSFORM_CLAP;
    image.clap = {image.width / 2, 1, image.height / 2, 1, 0, 1, 0, 1};
  }
  if (!options.icc.empty()) {
    avifImageSetProfileICC(&image, options.icc.data(), options.icc.size());
  }
}

void set_pixels(avifImage& image, const Raster& raster, bool has_alpha) {
  avifRGBImage rgb{};
  avifRGBImageSetDefaults(&rgb, &image);
  rgb.depth = 8;
  rgb.format = has_alpha ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
  rgb.pixels = const_cast<std::uint8_t*>(raster.bytes.data());
  rgb.rowBytes = static_cast<std::uint32_t>(raster.size.width * (has_alpha ? 4 : 3));
  TSR_CHECK(avifImageRGBToYUV(&image, &rgb) == AVIF_RESULT_OK);
}

/// Sequences say when they were made; a file must be the same each time.
void clear_dates(ByteVector& file) {
  for (const std::string_view type : {"mvhd", "tkhd", "mdhd"}) {
    const auto box = std::ranges::search(file, type).begin();
    constexpr std::ptrdiff_t kDates = 4 + 4;  // behind the type, version (1) and flags
    if (file.end() - box >= kDates + 16) std::fill_n(box + kDates, 16, std::uint8_t{0});
  }
}

}  // namespace

ByteVector encode_avif(const Raster& raster, const AvifOptions& options) {
  avifImage* image = avifImageCreate(
      static_cast<std::uint32_t>(raster.size.width), static_cast<std::uint32_t>(raster.size.height),
      static_cast<std::uint32_t>(options.depth),
      options.subsampled ? AVIF_PIXEL_FORMAT_YUV420 : AVIF_PIXEL_FORMAT_YUV444);
  set_properties(*image, options);
  set_pixels(*image, raster, options.has_alpha);
  avifEncoder* encoder = avifEncoderCreate();
  encoder->speed = AVIF_SPEED_FASTEST;
  encoder->minQuantizer = encoder->maxQuantizer = kQuantizer;
  encoder->minQuantizerAlpha = encoder->maxQuantizerAlpha = AVIF_QUANTIZER_LOSSLESS;
  for (int i = 0; i < options.n_frames; ++i) {
    const avifAddImageFlags flags =
        options.n_frames == 1 ? AVIF_ADD_IMAGE_FLAG_SINGLE : AVIF_ADD_IMAGE_FLAG_NONE;
    TSR_CHECK(avifEncoderAddImage(encoder, image, 1, flags) == AVIF_RESULT_OK);
  }
  avifRWData output = AVIF_DATA_EMPTY;
  TSR_CHECK(avifEncoderFinish(encoder, &output) == AVIF_RESULT_OK);
  ByteVector bytes(output.data, output.data + output.size);
  avifRWDataFree(&output);
  avifEncoderDestroy(encoder);
  avifImageDestroy(image);
  clear_dates(bytes);
  return bytes;
}

}  // namespace tessera::media::testing
