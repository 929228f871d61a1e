#include "media/codecs/jpeg_codec.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "media/codecs/jpeg_markers.h"
#include "media/validate.h"

// After <cstdio>: the header needs FILE and size_t and includes neither.
#include <jpeglib.h>

// After jpeglib.h, whose configuration decides which codes exist.
#include <jerror.h>

namespace tessera::media {
namespace {

/// libjpeg's error manager, with where to go and what it was.
struct ErrorManager {
  jpeg_error_mgr base;  // first: libjpeg knows only this part
  std::jmp_buf target;
  MediaError error;
};

MediaError classify(int code) {
  switch (code) {
    case JERR_OUT_OF_MEMORY:
      return MediaError::kOutOfMemory;
    case JERR_BAD_PRECISION:
    case JERR_SOF_UNSUPPORTED:
    case JERR_ARITH_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
      return MediaError::kUnsupportedVariant;
    default:
      return MediaError::kInvalid;
  }
}

[[noreturn]] void fail(j_common_ptr cinfo, MediaError error) {
  auto* manager = reinterpret_cast<ErrorManager*>(cinfo->err);
  manager->error = error;
  std::longjmp(manager->target, 1);
}

void on_error(j_common_ptr cinfo) {
  fail(cinfo, classify(cinfo->err->msg_code));
}

/// libjpeg paints grey where data is missing and goes on; an answer about such a picture would be a
/// guess, so that these warnings are errors. Others (odd but complete files) are not.
void on_message(j_common_ptr cinfo, int level) {
  if (level >= 0) return;
  switch (cinfo->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
      fail(cinfo, MediaError::kInvalid);
    default:
      return;
  }
}

void discard_message(j_common_ptr /*cinfo*/) {}

/// libjpeg's own struct comes first, so that a pointer to one is a pointer to the other.
struct Progress {
  jpeg_progress_mgr base{};
  std::int32_t scans_max = 0;
};

/// The second line behind the marker count: libjpeg's own idea of which scan it reads.
void on_progress(j_common_ptr cinfo) {
  const auto* decompress = reinterpret_cast<j_decompress_ptr>(cinfo);
  const auto* progress = reinterpret_cast<const Progress*>(cinfo->progress);
  if (decompress->input_scan_number > progress->scans_max) fail(cinfo, MediaError::kScansTooMany);
}

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};

/// One decompression. Every method that calls libjpeg sets the jump target itself and holds no
/// object with a destructor.
class Decompressor {
 public:
  Decompressor(Bytes file, const wire::ImageLimits& limits) : file_(file), limits_(limits) {
    cinfo_.err = jpeg_std_error(&manager_.base);
    manager_.base.error_exit = on_error;
    manager_.base.emit_message = on_message;
    manager_.base.output_message = discard_message;
    manager_.error = MediaError::kNone;
    progress_.base.progress_monitor = on_progress;
    progress_.scans_max = limits.scans_max;
  }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  ~Decompressor() { jpeg_destroy_decompress(&cinfo_); }  // never fails; fine when not created

  MediaError read_header() {
    if (setjmp(manager_.target) != 0) return manager_.error;  // NOLINT(modernize-avoid-setjmp)
    jpeg_create_decompress(&cinfo_);
    cinfo_.progress = &progress_.base;
    jpeg_mem_src(&cinfo_, file_.data(), file_.size());
    jpeg_save_markers(&cinfo_, JPEG_APP0 + 2, 0xFFFF);
    jpeg_read_header(&cinfo_, TRUE);
    switch (cinfo_.jpeg_color_space) {
      case JCS_GRAYSCALE:
        cinfo_.out_color_space = JCS_GRAYSCALE;
        break;
      case JCS_CMYK:
      case JCS_YCCK:
        cinfo_.out_color_space = JCS_CMYK;
        break;
      default:
        cinfo_.out_color_space = JCS_RGB;
        break;
    }
    JOCTET* profile = nullptr;
    unsigned int n_profile_bytes = 0;
    if (jpeg_read_icc_profile(&cinfo_, &profile, &n_profile_bytes) != FALSE) {
      icc_memory_.reset(profile);
      if (n_profile_bytes <= limits_.icc_bytes_max) icc_ = {profile, n_profile_bytes};
    }
    return MediaError::kNone;
  }

  /// Asks for rows of output_size(), made by smaller transforms of the same coefficients.
  MediaError set_scale(DecodeScale scale) {
    if (setjmp(manager_.target) != 0) return manager_.error;  // NOLINT(modernize-avoid-setjmp)
    cinfo_.scale_num = static_cast<unsigned int>(scale.numerator);
    cinfo_.scale_denom = 8;
    jpeg_calc_output_dimensions(&cinfo_);
    return MediaError::kNone;
  }

  /// @param row  [output width][n_channels]
  MediaError read_rows(std::uint8_t* row, PixelWriter& writer) {
    if (setjmp(manager_.target) != 0) return manager_.error;  // NOLINT(modernize-avoid-setjmp)
    jpeg_start_decompress(&cinfo_);
    while (cinfo_.output_scanline < cinfo_.output_height) {
      JSAMPROW rows[] = {row};
      if (jpeg_read_scanlines(&cinfo_, rows, 1) != 1) return MediaError::kInvalid;
      if (inverted()) invert(row);
      writer.write_row(row);
    }
    jpeg_finish_decompress(&cinfo_);  // reads up to EOI: a missing one is an error
    return MediaError::kNone;
  }

  ImageSize size() const {
    return {static_cast<int>(cinfo_.image_width), static_cast<int>(cinfo_.image_height)};
  }

  ImageSize output_size() const {
    return {static_cast<int>(cinfo_.output_width), static_cast<int>(cinfo_.output_height)};
  }

  ColorModel model() const {
    switch (cinfo_.out_color_space) {
      case JCS_GRAYSCALE:
        return ColorModel::kGray;
      case JCS_CMYK:
        return ColorModel::kCmyk;
      default:
        return ColorModel::kRgb;
    }
  }

  Bytes icc() const { return icc_; }

 private:
  /// Adobe's CMYK files store 255 − ink.
  bool inverted() const {
    return cinfo_.out_color_space == JCS_CMYK && cinfo_.saw_Adobe_marker != FALSE;
  }

  void invert(std::uint8_t* row) const {
    const std::size_t n = std::size_t{cinfo_.output_width} * 4;
    for (std::size_t i = 0; i < n; ++i) row[i] = static_cast<std::uint8_t>(255 - row[i]);
  }

  Bytes file_;
  const wire::ImageLimits& limits_;
  jpeg_decompress_struct cinfo_{};
  ErrorManager manager_{};
  Progress progress_;
  std::unique_ptr<JOCTET, FreeDeleter> icc_memory_;
  Bytes icc_;
};

/// The smallest of the transforms that libjpeg-turbo has vectorised whose picture is not smaller
/// than the target. The others are slower than the next larger one here: at 3/8 a photo took
/// 39 ms against 31 ms at 4/8.
DecodeScale scale_for(ImageSize stored, ImageSize target) {
  for (const int numerator : {1, 2, 4}) {
    const DecodeScale scale{numerator};
    if (scale.length(stored.width) >= target.width &&
        scale.length(stored.height) >= target.height) {
      return scale;
    }
  }
  return {};
}

}  // namespace

ImageHeader read_jpeg_header(Bytes file, const wire::ImageLimits& limits) {
  const JpegStructure structure = read_jpeg_structure(file);
  ImageHeader header;
  header.format = MediaFormat::kJpeg;
  header.error = structure.error;
  header.stored = structure.size;
  header.n_scans = structure.n_scans;
  if (structure.exif.size() <= limits.exif_bytes_max) {
    header.orientation = parse_exif_orientation(structure.exif);
  }
  return header;
}

MediaError decode_jpeg(Bytes file, const wire::ImageLimits& limits, PixelWriter& writer) {
  Decompressor decompressor(file, limits);
  MediaError error = decompressor.read_header();
  if (error != MediaError::kNone) return error;
  if (decompressor.size() != writer.stored()) return MediaError::kInvalid;

  const DecodeScale scale = scale_for(writer.stored(), writer.stored_target());
  error = decompressor.set_scale(scale);
  if (error != MediaError::kNone) return error;
  const ImageSize size = decompressor.output_size();
  const ImageSize stored = writer.stored();
  if (size != ImageSize{scale.length(stored.width), scale.length(stored.height)}) {
    return MediaError::kWorkerFailed;
  }

  const PixelLayout layout{decompressor.model(), false};
  writer.begin(layout, decompressor.icc(), scale);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(size.width) *
                                static_cast<std::size_t>(layout.n_channels()));
  return decompressor.read_rows(row.data(), writer);
}

}  // namespace tessera::media
