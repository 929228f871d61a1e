#include "media/heif/heif_file.h"

#include <algorithm>
#include <cmath>

#include "media/codecs/cicp_profile.h"
#include "media/heif/hevc_decoder.h"

namespace tessera::media::heif {
namespace {

/// libheif's limit is a side of a square.
int side_of(std::int64_t pixels) {
  constexpr double kSideMax = 32'768;  // libheif's own default
  return static_cast<int>(std::min(std::ceil(std::sqrt(static_cast<double>(pixels))), kSideMax));
}

}  // namespace

MediaError classify(const heif_error& error) {
  switch (error.code) {
    case heif_error_Ok:
      return MediaError::kNone;
    case heif_error_Memory_allocation_error:
      return error.subcode == heif_suberror_Security_limit_exceeded ? MediaError::kInvalid
                                                                    : MediaError::kOutOfMemory;
    case heif_error_Unsupported_feature:
    case heif_error_Unsupported_filetype:
      return MediaError::kUnsupportedVariant;
    default:
      return MediaError::kInvalid;
  }
}

HeifFile::HeifFile(Bytes file, std::int64_t pixels_max) : context_(::heif_context_alloc()) {
  error_ = open(file, pixels_max);
}

MediaError HeifFile::open(Bytes file, std::int64_t pixels_max) {
  if (!context_) return MediaError::kOutOfMemory;
  register_hevc_decoder();
  ::heif_context_set_maximum_image_size_limit(context_.get(), side_of(pixels_max));
  ::heif_context_set_max_decoding_threads(context_.get(), 0);
  const heif_error read = ::heif_context_read_from_memory_without_copy(context_.get(), file.data(),
                                                                       file.size(), nullptr);
  if (read.code != heif_error_Ok) return classify(read);
  heif_image_handle* handle = nullptr;
  const heif_error found = ::heif_context_get_primary_image_handle(context_.get(), &handle);
  handle_.reset(handle);
  if (found.code != heif_error_Ok) return classify(found);
  // To divide by alpha again would lose what it took; cameras write none.
  const bool is_premultiplied = ::heif_image_handle_is_premultiplied_alpha(handle) != 0;
  return is_premultiplied ? MediaError::kUnsupportedVariant : MediaError::kNone;
}

ImageSize HeifFile::size() const {
  return {::heif_image_handle_get_width(handle_.get()),
          ::heif_image_handle_get_height(handle_.get())};
}

ImageSize HeifFile::announced_size() const {
  return {::heif_image_handle_get_ispe_width(handle_.get()),
          ::heif_image_handle_get_ispe_height(handle_.get())};
}

std::vector<std::uint8_t> HeifFile::profile(std::uint32_t icc_bytes_max) const {
  const std::size_t n_bytes = ::heif_image_handle_get_raw_color_profile_size(handle_.get());
  if (n_bytes > 0 && n_bytes <= icc_bytes_max) {
    std::vector<std::uint8_t> icc(n_bytes);
    const heif_error read = ::heif_image_handle_get_raw_color_profile(handle_.get(), icc.data());
    if (read.code == heif_error_Ok) return icc;
  }
  heif_color_profile_nclx* nclx = nullptr;
  const heif_error read = ::heif_image_handle_get_nclx_color_profile(handle_.get(), &nclx);
  const HeifPtr<heif_color_profile_nclx> owner(nclx);
  if (read.code != heif_error_Ok || nclx == nullptr) return {};
  return cicp_profile(nclx->color_primaries, nclx->transfer_characteristics);
}

MediaError HeifFile::decode(HeifPtr<heif_image>& image) const {
  const HeifPtr<heif_decoding_options> options(::heif_decoding_options_alloc());
  if (!options) return MediaError::kOutOfMemory;
  options->convert_hdr_to_8bit = 1;
  options->decoder_id = kHevcDecoder;
  heif_image* decoded = nullptr;
  const heif_error error = ::heif_decode_image(
      handle_.get(), &decoded, heif_colorspace_RGB,
      has_alpha() ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB, options.get());
  image.reset(decoded);
  return classify(error);
}

}  // namespace tessera::media::heif
