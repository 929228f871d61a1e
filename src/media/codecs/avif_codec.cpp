#include "media/codecs/avif_codec.h"

#include <avif/avif.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "media/codecs/cicp_profile.h"

namespace tessera::media {
namespace {

/// Rows that are converted to RGB at a time; even, so that they start at a row of chroma.
constexpr int kStripRows = 64;

/// Rows of luma whose chroma the interpolation at a strip's edge looks at.
constexpr int kStripMargin = 2;

/// Where the size stands, unless the file is odd: behind a handful of boxes.
constexpr std::size_t kExtentSearchBytes = std::size_t{64} * 1024;

MediaError classify(avifResult result) {
  switch (result) {
    case AVIF_RESULT_OK:
      return MediaError::kNone;
    case AVIF_RESULT_OUT_OF_MEMORY:
      return MediaError::kOutOfMemory;
    case AVIF_RESULT_NOT_IMPLEMENTED:
    case AVIF_RESULT_UNSUPPORTED_DEPTH:
      return MediaError::kUnsupportedVariant;
    default:
      return MediaError::kInvalid;
  }
}

std::uint32_t read_u32(Bytes bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24U | std::uint32_t{bytes[at + 1]} << 16U |
         std::uint32_t{bytes[at + 2]} << 8U | std::uint32_t{bytes[at + 3]};
}

/// The first ispe property's size when libavif would not even parse it, and then the reason would
/// be lost; 0×0 otherwise.
ImageSize extent_beyond_library(Bytes file) {
  constexpr std::string_view kType = "ispe";
  constexpr std::size_t kBoxBytes = 4 + 4 + 8;  // type, version and flags, width and height
  const Bytes head = file.first(std::min(file.size(), kExtentSearchBytes));
  const auto found = std::ranges::search(head, kType).begin();
  const auto at = static_cast<std::size_t>(found - head.begin());
  if (head.size() - at < kBoxBytes) return {};
  constexpr std::uint32_t kMax = 0x7FFFFFFF;
  const std::uint32_t width = std::min(read_u32(head, at + 8), kMax);
  const std::uint32_t height = std::min(read_u32(head, at + 12), kMax);
  const bool parses = std::max(width, height) <= AVIF_DEFAULT_IMAGE_DIMENSION_LIMIT &&
                      std::uint64_t{width} * height <= AVIF_DEFAULT_IMAGE_SIZE_LIMIT;
  return parses ? ImageSize{} : ImageSize{static_cast<int>(width), static_cast<int>(height)};
}

class Reader {
 public:
  Reader(Bytes file, std::int32_t frames_max) : file_(file), decoder_(avifDecoderCreate()) {
    if (decoder_ == nullptr) return;
    decoder_->codecChoice = AVIF_CODEC_CHOICE_DAV1D;
    decoder_->maxThreads = 1;
    decoder_->ignoreExif = AVIF_TRUE;
    decoder_->ignoreXMP = AVIF_TRUE;
    decoder_->imageCountLimit = static_cast<std::uint32_t>(frames_max);
    // Older encoders left pixi out; everything that it says is in the bitstream too.
    decoder_->strictFlags &= ~static_cast<avifStrictFlags>(AVIF_STRICT_PIXI_REQUIRED);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    if (decoder_ != nullptr) avifDecoderDestroy(decoder_);
  }

  /// Before parse(): nothing in the file may be larger.
  void set_size_limit(ImageSize size) {
    if (decoder_ == nullptr) return;
    decoder_->imageSizeLimit = static_cast<std::uint32_t>(size.pixels());
    decoder_->imageDimensionLimit = static_cast<std::uint32_t>(std::max(size.width, size.height));
  }

  MediaError parse() {
    if (decoder_ == nullptr) return MediaError::kOutOfMemory;
    avifResult result = avifDecoderSetIOMemory(decoder_, file_.data(), file_.size());
    if (result == AVIF_RESULT_OK) result = avifDecoderParse(decoder_);
    const MediaError error = classify(result);
    // To crop is to hide: showing all would be wrong, and nobody sends it.
    const bool is_cropped =
        error == MediaError::kNone && (image().transformFlags & AVIF_TRANSFORM_CLAP) != 0;
    return is_cropped ? MediaError::kUnsupportedVariant : error;
  }

  MediaError decode() { return classify(avifDecoderNextImage(decoder_)); }

  const avifImage& image() const { return *decoder_->image; }

  ImageSize size() const {
    constexpr std::uint32_t kMax = 0x7FFFFFFF;
    return {static_cast<int>(std::min(image().width, kMax)),
            static_cast<int>(std::min(image().height, kMax))};
  }

  bool has_alpha() const { return decoder_->alphaPresent != AVIF_FALSE; }

 private:
  Bytes file_;
  avifDecoder* decoder_;
};

/// A window into an image's planes, and the RGB rows that it is converted to.
class Strip {
 public:
  Strip(int width, bool has_alpha)
      : view_(avifImageCreateEmpty()),
        n_row_bytes_(static_cast<std::size_t>(width) * (has_alpha ? 4 : 3)),
        has_alpha_(has_alpha),
        rows_(n_row_bytes_ * (kStripRows + 2 * kStripMargin)) {}
  Strip(const Strip&) = delete;
  Strip& operator=(const Strip&) = delete;
  ~Strip() {
    if (view_ != nullptr) avifImageDestroy(view_);
  }

  /// @param first  of the rows, even
  MediaError convert(const avifImage& image, std::uint32_t first, std::uint32_t n) {
    if (view_ == nullptr) return MediaError::kOutOfMemory;
    const avifCropRect rect{0, first, image.width, n};
    avifResult result = avifImageSetViewRect(view_, &image, &rect);
    if (result != AVIF_RESULT_OK) return classify(result);
    avifRGBImage rgb{};
    avifRGBImageSetDefaults(&rgb, view_);
    rgb.format = has_alpha_ ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
    rgb.depth = 8;
    rgb.alphaPremultiplied = AVIF_FALSE;
    rgb.ignoreAlpha = has_alpha_ ? AVIF_FALSE : AVIF_TRUE;
    rgb.pixels = rows_.data();
    rgb.rowBytes = static_cast<std::uint32_t>(n_row_bytes_);
    return classify(avifImageYUVToRGB(view_, &rgb));
  }

  const std::uint8_t* row(int y) const {
    return rows_.data() + static_cast<std::size_t>(y) * n_row_bytes_;
  }

 private:
  avifImage* view_;
  std::size_t n_row_bytes_;
  bool has_alpha_;
  std::vector<std::uint8_t> rows_;
};

MediaError write_rows(const avifImage& image, bool has_alpha, PixelWriter& writer) {
  const ImageSize size = writer.stored();
  Strip strip(size.width, has_alpha);
  for (int y = 0; y < size.height; y += kStripRows) {
    const int end = std::min(size.height, y + kStripRows);
    const int first = std::max(0, y - kStripMargin);
    const int last = std::min(size.height, end + kStripMargin);
    const MediaError error = strip.convert(image, static_cast<std::uint32_t>(first),
                                           static_cast<std::uint32_t>(last - first));
    if (error != MediaError::kNone) return error;
    for (int row = y; row < end; ++row) writer.write_row(strip.row(row - first));
  }
  return MediaError::kNone;
}

}  // namespace

Orientation avif_orientation(int angle, int mirror) {
  // [angle][mirror]: none, top with bottom, left with right.
  constexpr std::array<std::array<Orientation, 3>, 4> kOrientations{
      {{Orientation::kUpright, Orientation::kMirrorVertical, Orientation::kMirrorHorizontal},
       {Orientation::kRotate270, Orientation::kTranspose, Orientation::kTransverse},
       {Orientation::kRotate180, Orientation::kMirrorHorizontal, Orientation::kMirrorVertical},
       {Orientation::kRotate90, Orientation::kTransverse, Orientation::kTranspose}}};
  const auto turn = static_cast<std::size_t>(angle & 3);
  const int column = std::clamp(mirror, -1, 1) + 1;
  return kOrientations[turn][static_cast<std::size_t>(column)];
}

ImageHeader read_avif_header(Bytes file, const wire::ImageLimits& limits) {
  ImageHeader header;
  header.format = MediaFormat::kAvif;
  // Every limit of ours that makes sense is below the library's, and names the size.
  header.stored = extent_beyond_library(file);
  if (header.stored != ImageSize{}) return header;

  Reader reader(file, limits.frames_max);
  header.error = reader.parse();
  if (header.error == MediaError::kInvalid) return header;
  header.stored = reader.size();
  const avifImage& image = reader.image();
  const bool turns = (image.transformFlags & AVIF_TRANSFORM_IROT) != 0;
  const bool mirrors = (image.transformFlags & AVIF_TRANSFORM_IMIR) != 0;
  header.orientation =
      avif_orientation(turns ? image.irot.angle : 0, mirrors ? image.imir.mode : -1);
  return header;
}

MediaError decode_avif(Bytes file, const wire::ImageLimits& limits, PixelWriter& writer) {
  Reader reader(file, limits.frames_max);
  reader.set_size_limit(writer.stored());
  MediaError error = reader.parse();
  if (error != MediaError::kNone) return error;
  if (reader.size() != writer.stored()) return MediaError::kInvalid;
  error = reader.decode();
  if (error != MediaError::kNone) return error;
  if (reader.size() != writer.stored()) return MediaError::kInvalid;

  const avifImage& image = reader.image();
  const PixelLayout layout{ColorModel::kRgb, reader.has_alpha()};
  if (image.icc.size > 0 && image.icc.size <= limits.icc_bytes_max) {
    writer.begin(layout, {image.icc.data, image.icc.size});
  } else {
    writer.begin(layout, cicp_profile(image.colorPrimaries, image.transferCharacteristics));
  }
  return write_rows(image, layout.has_alpha, writer);
}

}  // namespace tessera::media
