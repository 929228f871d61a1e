#include "media/codecs/png_codec.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <limits>
#include <vector>

namespace tessera::media {
namespace {

constexpr std::size_t kSignatureBytes = 8;
constexpr std::size_t kIhdrBytes = 13;
constexpr std::size_t kFrameBytes = 12;  // length, type and CRC around a chunk's data

std::uint32_t read_u32(Bytes bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24U | std::uint32_t{bytes[at + 1]} << 16U |
         std::uint32_t{bytes[at + 2]} << 8U | std::uint32_t{bytes[at + 3]};
}

bool has_type(Bytes file, std::size_t chunk, const char (&type)[5]) {
  return std::memcmp(file.data() + chunk + 4, type, 4) == 0;
}

/// The first eXIf chunk before IEND; it may come after the pixels.
Bytes find_exif(Bytes file, std::size_t n_bytes_max) {
  std::size_t at = kSignatureBytes;
  while (at <= file.size() && file.size() - at >= kFrameBytes) {
    const std::size_t length = read_u32(file, at);
    if (length > file.size() - at - kFrameBytes || has_type(file, at, "IEND")) break;
    if (has_type(file, at, "eXIf")) {
      return length <= n_bytes_max ? file.subspan(at + 8, length) : Bytes{};
    }
    at += length + kFrameBytes;
  }
  return {};
}

struct Source {
  Bytes file;
  std::size_t at = 0;
};

void read_data(png_structp png, png_bytep out, std::size_t n) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (n > source->file.size() - source->at) png_error(png, "");
  std::memcpy(out, source->file.data() + source->at, n);
  source->at += n;
}

[[noreturn]] void on_error(png_structp png, png_const_charp /*message*/) {
  png_longjmp(png, 1);
}

void on_warning(png_structp /*png*/, png_const_charp /*message*/) {}

/// One reading. Every method that calls libpng sets the jump target itself and holds no object with
/// a destructor.
class Reader {
 public:
  Reader(Bytes file, std::size_t icc_bytes_max) : source_{file, 0}, icc_bytes_max_(icc_bytes_max) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  /// Reads up to the pixels and asks for 8-bit channels.
  MediaError read_info() {
    if (info_ == nullptr) return MediaError::kOutOfMemory;
    if (setjmp(png_jmpbuf(png_)) != 0)
      return MediaError::kInvalid;  // NOLINT(modernize-avoid-setjmp)
    png_set_read_fn(png_, &source_, read_data);
    set_limits();
    png_read_info(png_, info_);
    take_profile();
    png_set_expand(png_);    // palette → RGB, < 8 bits → 8, tRNS → alpha
    png_set_scale_16(png_);  // rounds, where strip_16 would cut
    n_passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_bit_depth(png_, info_) != 8) return MediaError::kUnsupportedVariant;
    return MediaError::kNone;
  }

  /// @param rows  one row, or all of them when n_passes() > 1
  MediaError read_rows(std::uint8_t* rows, PixelWriter& writer) {
    if (setjmp(png_jmpbuf(png_)) != 0)
      return MediaError::kInvalid;  // NOLINT(modernize-avoid-setjmp)
    const int height = writer.stored().height;
    const std::size_t stride = n_passes_ > 1 ? row_bytes() : 0;
    for (int pass = 0; pass < n_passes_; ++pass) {
      for (int y = 0; y < height; ++y) {
        std::uint8_t* row = rows + static_cast<std::size_t>(y) * stride;
        png_read_row(png_, row, nullptr);
        if (pass + 1 == n_passes_) writer.write_row(row);
      }
    }
    png_read_end(png_, nullptr);  // a missing IEND is a truncated file
    return MediaError::kNone;
  }

  ImageSize size() const {
    constexpr std::uint32_t kMax = std::numeric_limits<int>::max();
    return {static_cast<int>(std::min(png_get_image_width(png_, info_), kMax)),
            static_cast<int>(std::min(png_get_image_height(png_, info_), kMax))};
  }

  PixelLayout layout() const {
    const int n = png_get_channels(png_, info_);
    return {n <= 2 ? ColorModel::kGray : ColorModel::kRgb, n == 2 || n == 4};
  }

  std::size_t row_bytes() const { return png_get_rowbytes(png_, info_); }
  int n_passes() const { return n_passes_; }
  Bytes icc() const { return icc_; }

 private:
  void set_limits() {
    // The size was checked already; libpng's own default of one million would do as well.
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(png_, icc_bytes_max_);  // inflated metadata
    png_set_chunk_cache_max(png_, 16);               // unknown chunks kept; none are
    // Text and other metadata is skipped unread; iCCP, sRGB, tRNS and PLTE are what we use.
    constexpr std::array<png_byte, 60> kSkipped{
        'b', 'K', 'G', 'D', 0, 'h', 'I', 'S', 'T', 0, 'i', 'T', 'X', 't', 0, 'o', 'F', 'F', 's', 0,
        'p', 'C', 'A', 'L', 0, 'p', 'H', 'Y', 's', 0, 's', 'C', 'A', 'L', 0, 's', 'P', 'L', 'T', 0,
        't', 'E', 'X', 't', 0, 't', 'I', 'M', 'E', 0, 'z', 'T', 'X', 't', 0, 'e', 'X', 'I', 'f', 0};
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, kSkipped.data(),
                                static_cast<int>(kSkipped.size() / 5));
  }

  void take_profile() {
    png_charp name = nullptr;
    int method = 0;
    png_bytep profile = nullptr;
    png_uint_32 n_bytes = 0;
    // A file that says sRGB needs no profile.
    if (png_get_valid(png_, info_, PNG_INFO_sRGB) != 0) return;
    if (png_get_iCCP(png_, info_, &name, &method, &profile, &n_bytes) != 0 &&
        n_bytes <= icc_bytes_max_) {
      icc_ = {profile, n_bytes};  // owned by info_
    }
  }

  Source source_;
  std::size_t icc_bytes_max_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int n_passes_ = 1;
  Bytes icc_;
};

}  // namespace

ImageHeader read_png_header(Bytes file, const wire::ImageLimits& limits) {
  if (file.size() < kSignatureBytes + kFrameBytes + kIhdrBytes ||
      read_u32(file, kSignatureBytes) != kIhdrBytes || !has_type(file, kSignatureBytes, "IHDR")) {
    return refused(MediaFormat::kPng, MediaError::kInvalid);
  }
  const std::uint32_t width = read_u32(file, kSignatureBytes + 8);
  const std::uint32_t height = read_u32(file, kSignatureBytes + 12);
  if (std::max(width, height) > PNG_UINT_31_MAX) {
    return refused(MediaFormat::kPng, MediaError::kInvalid);
  }
  ImageHeader header;
  header.format = MediaFormat::kPng;
  header.stored = {static_cast<int>(width), static_cast<int>(height)};
  header.orientation = parse_exif_orientation(find_exif(file, limits.exif_bytes_max));
  return header;
}

MediaError decode_png(Bytes file, const wire::ImageLimits& limits, PixelWriter& writer) {
  Reader reader(file, limits.icc_bytes_max);
  const MediaError error = reader.read_info();
  if (error != MediaError::kNone) return error;
  if (reader.size() != writer.stored()) return MediaError::kInvalid;

  writer.begin(reader.layout(), reader.icc());
  const std::size_t n_rows =
      reader.n_passes() > 1 ? static_cast<std::size_t>(writer.stored().height) : 1;
  std::vector<std::uint8_t> rows(reader.row_bytes() * n_rows);
  return reader.read_rows(rows.data(), writer);
}

}  // namespace tessera::media
