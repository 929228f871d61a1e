#include "media/codecs/gif_codec.h"

#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

namespace tessera::media {
namespace {

constexpr std::size_t kScreenBytes = 13;  // signature and logical screen descriptor

struct Source {
  Bytes file;
  std::size_t at = 0;
};

int read_data(GifFileType* gif, GifByteType* out, int n) {
  auto* source = static_cast<Source*>(gif->UserData);
  const std::size_t n_taken =
      std::min(static_cast<std::size_t>(std::max(n, 0)), source->file.size() - source->at);
  std::memcpy(out, source->file.data() + source->at, n_taken);
  source->at += n_taken;
  return static_cast<int>(n_taken);
}

/// Rows of an interlaced frame come in four sweeps.
struct Sweep {
  int first;
  int step;
};
constexpr std::array<Sweep, 4> kInterlaced{{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};

class Reader {
 public:
  explicit Reader(Bytes file) : source_{file, 0} {
    int code = 0;
    gif_ = DGifOpen(&source_, read_data, &code);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    int code = 0;
    if (gif_ != nullptr) DGifCloseFile(gif_, &code);
  }

  /// Reads up to the next frame's pixels. kInvalid also at the end.
  MediaError find_frame() {
    if (gif_ == nullptr) return MediaError::kInvalid;
    transparent_ = NO_TRANSPARENT_COLOR;
    disposal_ = DISPOSAL_UNSPECIFIED;
    GifRecordType record{};
    while (DGifGetRecordType(gif_, &record) == GIF_OK) {
      if (record == IMAGE_DESC_RECORD_TYPE) {
        return DGifGetImageDesc(gif_) == GIF_OK && fits_screen() ? MediaError::kNone
                                                                 : MediaError::kInvalid;
      }
      if (record != EXTENSION_RECORD_TYPE || !read_extension()) break;
    }
    return MediaError::kInvalid;
  }

  /// Passes over the pixels of the frame that was found, as they are packed. False = truncated.
  bool skip_pixels() {
    int code_size = 0;
    GifByteType* block = nullptr;  // [0] = length
    if (DGifGetCode(gif_, &code_size, &block) != GIF_OK) return false;
    while (block != nullptr) {
      if (DGifGetCodeNext(gif_, &block) != GIF_OK) return false;
    }
    return true;
  }

  /// Paints the frame that was found over the canvas.
  /// @param rgba  [screen height][screen width][4]
  MediaError paint_over(std::uint8_t* rgba) {
    const ColorMapObject* colors = color_map();
    if (colors == nullptr) return MediaError::kInvalid;
    const GifImageDesc& frame = gif_->Image;
    if (frame.Interlace && !read_interlaced()) return MediaError::kInvalid;
    const auto width = static_cast<std::size_t>(frame.Width);
    std::vector<GifPixelType> indices(width);
    std::vector<std::uint8_t> row(width * 4);
    for (int y = 0; y < frame.Height; ++y) {
      const GifPixelType* line = indices.data();
      if (frame.Interlace) {
        line = interlaced_line(y);
      } else if (DGifGetLine(gif_, indices.data(), frame.Width) != GIF_OK) {
        return MediaError::kInvalid;
      }
      paint({line, width}, *colors, row.data());
      std::uint8_t* out = rgba + canvas_offset(frame.Left, frame.Top + y);
      for (std::size_t x = 0; x < width; ++x) {
        if (row[4 * x + 3] != 0) std::copy_n(&row[4 * x], 4, out + 4 * x);
      }
    }
    return MediaError::kNone;
  }

  /// Takes the frame that was painted off the canvas again, as far as the file says so.
  /// @param before  the canvas without it; only read when has_to_restore()
  void dispose(std::vector<std::uint8_t>& rgba, const std::vector<std::uint8_t>& before) const {
    if (has_to_restore()) {
      rgba = before;
    } else if (disposal_ == DISPOSE_BACKGROUND) {
      const GifImageDesc& frame = gif_->Image;
      for (int y = 0; y < frame.Height; ++y) {
        std::fill_n(rgba.begin() + canvas_offset(frame.Left, frame.Top + y),
                    std::ptrdiff_t{frame.Width} * 4, std::uint8_t{0});
      }
    }
  }

  bool has_to_restore() const { return disposal_ == DISPOSE_PREVIOUS; }

  /// Writes the whole canvas, transparent where the frame leaves it.
  MediaError read_rows(PixelWriter& writer) {
    const ColorMapObject* colors = color_map();
    if (colors == nullptr) return MediaError::kInvalid;
    const GifImageDesc& frame = gif_->Image;
    if (frame.Interlace && !read_interlaced()) return MediaError::kInvalid;
    std::vector<GifPixelType> indices(static_cast<std::size_t>(frame.Width));
    const std::vector<std::uint8_t> empty_row(static_cast<std::size_t>(gif_->SWidth) * 4);
    std::vector<std::uint8_t> row = empty_row;
    for (int y = 0; y < gif_->SHeight; ++y) {
      const int frame_y = y - frame.Top;
      if (frame_y < 0 || frame_y >= frame.Height) {
        writer.write_row(empty_row.data());
        continue;
      }
      const GifPixelType* line = indices.data();
      if (frame.Interlace) {
        line = interlaced_line(frame_y);
      } else if (DGifGetLine(gif_, indices.data(), frame.Width) != GIF_OK) {
        return MediaError::kInvalid;
      }
      paint({line, indices.size()}, *colors, row.data() + std::ptrdiff_t{frame.Left} * 4);
      writer.write_row(row.data());
    }
    return MediaError::kNone;
  }

  ImageSize screen() const { return {gif_->SWidth, gif_->SHeight}; }

 private:
  const ColorMapObject* color_map() const {
    return gif_->Image.ColorMap != nullptr ? gif_->Image.ColorMap : gif_->SColorMap;
  }

  std::ptrdiff_t canvas_offset(int x, int y) const {
    return (std::ptrdiff_t{y} * gif_->SWidth + x) * 4;
  }

  bool fits_screen() const {
    const GifImageDesc& frame = gif_->Image;
    return frame.Width > 0 && frame.Height > 0 && frame.Left >= 0 && frame.Top >= 0 &&
           frame.Width <= gif_->SWidth - frame.Left && frame.Height <= gif_->SHeight - frame.Top;
  }

  /// Rows that do not come in order have to be kept: one byte a pixel.
  bool read_interlaced() {
    const GifImageDesc& frame = gif_->Image;
    interlaced_.resize(static_cast<std::size_t>(frame.Width) *
                       static_cast<std::size_t>(frame.Height));
    for (const Sweep& sweep : kInterlaced) {
      for (int y = sweep.first; y < frame.Height; y += sweep.step) {
        if (DGifGetLine(gif_, interlaced_line(y), frame.Width) != GIF_OK) return false;
      }
    }
    return true;
  }

  GifPixelType* interlaced_line(int y) {
    return interlaced_.data() + std::ptrdiff_t{y} * gif_->Image.Width;
  }

  /// Keeps the transparent index and the disposal of a graphics control block, skips everything
  /// else.
  bool read_extension() {
    int code = 0;
    GifByteType* block = nullptr;  // [0] = length
    if (DGifGetExtension(gif_, &code, &block) != GIF_OK) return false;
    if (code == GRAPHICS_EXT_FUNC_CODE && block != nullptr) {
      GraphicsControlBlock control{};
      if (DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
        transparent_ = control.TransparentColor;
        disposal_ = control.DisposalMode;
      }
    }
    while (block != nullptr) {
      if (DGifGetExtensionNext(gif_, &block) != GIF_OK) return false;
    }
    return true;
  }

  /// An index without a colour is painted transparent.
  void paint(std::span<const GifPixelType> indices, const ColorMapObject& colors,
             std::uint8_t* rgba) const {
    for (const GifPixelType index : indices) {
      if (index == transparent_ || index >= colors.ColorCount) {
        std::fill_n(rgba, 4, std::uint8_t{0});
      } else {
        const GifColorType& color = colors.Colors[index];
        rgba[0] = color.Red;
        rgba[1] = color.Green;
        rgba[2] = color.Blue;
        rgba[3] = 255;
      }
      rgba += 4;
    }
  }

  Source source_;
  GifFileType* gif_ = nullptr;
  std::vector<GifPixelType> interlaced_;  // [frame height][frame width]
  // Of the next frame.
  int transparent_ = NO_TRANSPARENT_COLOR;
  int disposal_ = DISPOSAL_UNSPECIFIED;
};

}  // namespace

ImageHeader read_gif_header(Bytes file, const wire::ImageLimits& /*limits*/) {
  if (file.size() < kScreenBytes) return refused(MediaFormat::kGif, MediaError::kInvalid);
  ImageHeader header;
  header.format = MediaFormat::kGif;
  header.stored = {file[6] | file[7] << 8U, file[8] | file[9] << 8U};
  return header;
}

MediaError decode_gif(Bytes file, const wire::ImageLimits& /*limits*/, PixelWriter& writer) {
  Reader reader(file);
  const MediaError error = reader.find_frame();
  if (error != MediaError::kNone) return error;
  if (reader.screen() != writer.stored()) return MediaError::kInvalid;
  writer.begin({ColorModel::kRgb, true}, {});
  return reader.read_rows(writer);
}

int count_gif_frames(Bytes file, const wire::ImageLimits& limits) {
  Reader reader(file);
  int n_frames = 0;
  while (n_frames <= limits.frames_max && reader.find_frame() == MediaError::kNone &&
         reader.skip_pixels()) {
    ++n_frames;
  }
  return n_frames;
}

MediaError decode_gif_frames(Bytes file, const wire::ImageLimits& /*limits*/, FrameWriter& writer) {
  Reader reader(file);
  std::vector<std::uint8_t> canvas(static_cast<std::size_t>(writer.stored().pixels()) * 4);
  std::vector<std::uint8_t> before;
  while (!writer.is_complete()) {  // each turn takes a frame of the file
    MediaError error = reader.find_frame();
    if (error != MediaError::kNone) return error;
    if (reader.screen() != writer.stored()) return MediaError::kInvalid;
    if (reader.has_to_restore()) before = canvas;
    error = reader.paint_over(canvas.data());
    if (error != MediaError::kNone) return error;
    writer.next(canvas.data(), {});
    reader.dispose(canvas, before);
  }
  return MediaError::kNone;
}

}  // namespace tessera::media
