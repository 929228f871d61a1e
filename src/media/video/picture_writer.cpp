#include "media/video/picture_writer.h"

#include <array>

#include "media/codecs/cicp_profile.h"
#include "media/codecs/pixel_writer.h"

namespace tessera::media::video {
namespace {

/// Rows start at addresses that vector code likes; libswscale writes up to this beyond a row.
constexpr std::size_t kRowAlignment = 64;

// Chroma is interpolated and rounding exact: the few pictures of a request deserve it.
constexpr int kFlags = SWS_BILINEAR | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP | SWS_ACCURATE_RND;

std::size_t row_bytes(int width) {
  return (static_cast<std::size_t>(width) * 3 + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
}

/// Of libswscale's tables of coefficients.
int matrix_of(const AVFrame& picture) {
  switch (picture.colorspace) {
    case AVCOL_SPC_BT709:
      return SWS_CS_ITU709;
    case AVCOL_SPC_FCC:
      return SWS_CS_FCC;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
      return SWS_CS_ITU601;
    case AVCOL_SPC_SMPTE240M:
      return SWS_CS_SMPTE240M;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
      return SWS_CS_BT2020;
    default:
      return is_high_definition({picture.width, picture.height}) ? SWS_CS_ITU709 : SWS_CS_ITU601;
  }
}

bool is_full_range(const AVFrame& picture) {
  switch (picture.format) {
    case AV_PIX_FMT_YUVJ420P:
    case AV_PIX_FMT_YUVJ422P:
    case AV_PIX_FMT_YUVJ444P:
    case AV_PIX_FMT_YUVJ440P:
      return true;
    default:
      return picture.color_range == AVCOL_RANGE_JPEG;
  }
}

}  // namespace

bool is_high_definition(ImageSize size) {
  // The larger of the two analogue systems has 576 lines.
  return size.height > 576 || size.width > 1024;
}

MediaError PictureWriter::write(const AVFrame& picture, std::span<std::uint8_t> out) {
  if (ImageSize{picture.width, picture.height} != stored_) return MediaError::kUnsupportedVariant;
  const MediaError error = convert(picture);
  if (error != MediaError::kNone) return error;
  PixelWriter writer(stored_, orientation_, target_, out);
  writer.begin({ColorModel::kRgb, false}, cicp_profile(picture.color_primaries, picture.color_trc));
  for (int y = 0; y < stored_.height; ++y) {
    writer.write_row(rgb_.data() + static_cast<std::size_t>(y) * row_bytes(stored_.width));
  }
  return MediaError::kNone;
}

MediaError PictureWriter::convert(const AVFrame& picture) {
  const auto format = static_cast<AVPixelFormat>(picture.format);
  if (::sws_isSupportedInput(format) == 0) return MediaError::kUnsupportedVariant;
  if (!scaler_ || format_ != picture.format) {
    scaler_.reset(::sws_getContext(stored_.width, stored_.height, format, stored_.width,
                                   stored_.height, AV_PIX_FMT_RGB24, kFlags, nullptr, nullptr,
                                   nullptr));
    if (!scaler_) return MediaError::kOutOfMemory;
    format_ = picture.format;
  }
  constexpr int kUnit = 1 << 16;  // contrast and saturation as they are
  ::sws_setColorspaceDetails(scaler_.get(), ::sws_getCoefficients(matrix_of(picture)),
                             is_full_range(picture) ? 1 : 0, ::sws_getCoefficients(SWS_CS_DEFAULT),
                             1, 0, kUnit, kUnit);
  const std::size_t n_row_bytes = row_bytes(stored_.width);
  rgb_.resize(n_row_bytes * static_cast<std::size_t>(stored_.height) + kRowAlignment);
  const std::array<std::uint8_t*, 4> planes{rgb_.data(), nullptr, nullptr, nullptr};
  const std::array<int, 4> strides{static_cast<int>(n_row_bytes), 0, 0, 0};
  const int n_rows = ::sws_scale(scaler_.get(), picture.data, picture.linesize, 0, stored_.height,
                                 planes.data(), strides.data());
  return n_rows == stored_.height ? MediaError::kNone : MediaError::kUnsupportedVariant;
}

}  // namespace tessera::media::video
