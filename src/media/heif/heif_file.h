// libheif's objects with owners, and one file's primary image.
// @thread one thread at a time
#pragma once

#include <libheif/heif.h>

#include <memory>
#include <vector>

#include "media/codecs/codec.h"

namespace tessera::media::heif {

struct HeifDeleter {
  void operator()(heif_context* context) const { ::heif_context_free(context); }
  void operator()(heif_image_handle* handle) const { ::heif_image_handle_release(handle); }
  void operator()(heif_image* image) const { ::heif_image_release(image); }
  void operator()(heif_decoding_options* options) const { ::heif_decoding_options_free(options); }
  void operator()(heif_color_profile_nclx* nclx) const { ::heif_nclx_color_profile_free(nclx); }
};
template <typename T>
using HeifPtr = std::unique_ptr<T, HeifDeleter>;

MediaError classify(const heif_error& error);

class HeifFile {
 public:
  /// Reads boxes, no pictures.
  /// @param file        outlives this
  /// @param pixels_max  of any picture in the file; larger ones are not decoded
  HeifFile(Bytes file, std::int64_t pixels_max);

  MediaError error() const { return error_; }

  // Without error() only.

  /// After turning and cropping.
  ImageSize size() const;
  /// Before that, as the boxes say: what a PictureBudget is made of.
  ImageSize announced_size() const;
  bool has_alpha() const { return ::heif_image_handle_has_alpha_channel(handle_.get()) != 0; }

  /// An ICC profile; empty for sRGB.
  std::vector<std::uint8_t> profile(std::uint32_t icc_bytes_max) const;

  /// 8-bit RGB or RGBA in one plane. Within the calling thread's PictureBudget.
  MediaError decode(HeifPtr<heif_image>& image) const;

 private:
  MediaError open(Bytes file, std::int64_t pixels_max);

  HeifPtr<heif_context> context_;
  HeifPtr<heif_image_handle> handle_;
  MediaError error_ = MediaError::kNone;
};

}  // namespace tessera::media::heif
