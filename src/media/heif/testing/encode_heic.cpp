#include "media/heif/testing/encode_heic.h"

#include "core/check.h"
#include "media/heif/heif_file.h"

namespace tessera::media::heif::testing {
namespace {

void check(const heif_error& error) {
  TSR_CHECK(error.code == heif_error_Ok);
}

HeifPtr<heif_image> image_of(const Raster& picture, const HeicOptions& options) {
  const int n_channels = options.has_alpha ? 4 : 3;
  heif_image* image = nullptr;
  check(::heif_image_create(
      picture.size.width, picture.size.height, heif_colorspace_RGB,
      options.has_alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB, &image));
  HeifPtr<heif_image> owner(image);
  check(::heif_image_add_plane(image, heif_channel_interleaved, picture.size.width,
                               picture.size.height, 8));
  int n_row_bytes = 0;
  std::uint8_t* const rows = ::heif_image_get_plane(image, heif_channel_interleaved, &n_row_bytes);
  for (int y = 0; y < picture.size.height; ++y) {
    for (int x = 0; x < picture.size.width; ++x) {
      const auto from = static_cast<std::size_t>(y * picture.size.width + x) * 3;
      std::uint8_t* const to = rows + y * n_row_bytes + x * n_channels;
      for (std::size_t c = 0; c < 3; ++c) to[c] = picture.bytes[from + c];
      if (options.has_alpha) to[3] = 128;
    }
  }
  if (!options.icc.empty()) {
    check(
        ::heif_image_set_raw_color_profile(image, "prof", options.icc.data(), options.icc.size()));
  }
  return owner;
}

}  // namespace

ByteVector encode_heic(const Raster& picture, const HeicOptions& options) {
  const HeifPtr<heif_context> context(::heif_context_alloc());
  heif_encoder* encoder = nullptr;
  media::testing::allow_leaks_of_x265();
  check(::heif_context_get_encoder_for_format(context.get(), heif_compression_HEVC, &encoder));
  check(::heif_encoder_set_lossy_quality(encoder, 95));
  check(::heif_encoder_set_parameter_string(encoder, "chroma", "444"));
  check(::heif_encoder_set_parameter_string(encoder, "preset", "ultrafast"));
  const auto image = image_of(picture, options);
  heif_encoding_options* const encoding = ::heif_encoding_options_alloc();
  encoding->image_orientation =
      static_cast<heif_orientation>(static_cast<int>(options.orientation));
  const HeifPtr<heif_color_profile_nclx> nclx(::heif_nclx_color_profile_alloc());
  nclx->color_primaries = static_cast<heif_color_primaries>(options.color_primaries);
  nclx->transfer_characteristics = heif_transfer_characteristic_IEC_61966_2_1;
  nclx->matrix_coefficients = heif_matrix_coefficients_ITU_R_BT_601_6;
  nclx->full_range_flag = 1;
  check(::heif_image_set_nclx_color_profile(image.get(), nclx.get()));
  encoding->output_nclx_profile = nclx.get();
  encoding->macOS_compatibility_workaround_no_nclx_profile = 0;
  check(::heif_context_encode_image(context.get(), image.get(), encoder, encoding, nullptr));
  ::heif_encoding_options_free(encoding);
  ::heif_encoder_release(encoder);

  ByteVector file;
  heif_writer writer{};
  writer.writer_api_version = 1;
  writer.write = [](heif_context*, const void* data, std::size_t size, void* out) {
    const auto* const bytes = static_cast<const std::uint8_t*>(data);
    static_cast<ByteVector*>(out)->assign(bytes, bytes + size);
    return heif_error{heif_error_Ok, heif_suberror_Unspecified, ""};
  };
  check(::heif_context_write(context.get(), &writer, &file));
  return file;
}

}  // namespace tessera::media::heif::testing
