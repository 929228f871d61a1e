#include "media/codecs/webp_codec.h"

#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

namespace tessera::media {
namespace {

/// A parsed container. Every span points into the file.
class Container {
 public:
  explicit Container(Bytes file) {
    const WebPData data{file.data(), file.size()};
    demuxer_ = WebPDemux(&data);  // nothing when truncated
    if (demuxer_ != nullptr) has_frame_ = WebPDemuxGetFrame(demuxer_, 1, &frame_) != 0;
  }
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;
  ~Container() {
    WebPDemuxReleaseIterator(&frame_);
    WebPDemuxDelete(demuxer_);
  }

  bool is_sound() const {
    if (!has_frame_ || frame_.complete == 0) return false;
    const ImageSize size = canvas();
    return frame_.width > 0 && frame_.height > 0 && frame_.x_offset >= 0 && frame_.y_offset >= 0 &&
           frame_.width <= size.width - frame_.x_offset &&
           frame_.height <= size.height - frame_.y_offset;
  }

  ImageSize canvas() const {
    constexpr std::uint32_t kMax = std::numeric_limits<int>::max();
    return {static_cast<int>(std::min(WebPDemuxGetI(demuxer_, WEBP_FF_CANVAS_WIDTH), kMax)),
            static_cast<int>(std::min(WebPDemuxGetI(demuxer_, WEBP_FF_CANVAS_HEIGHT), kMax))};
  }

  const WebPIterator& frame() const { return frame_; }

  int n_frames() const {
    constexpr std::uint32_t kMax = std::numeric_limits<int>::max();
    return static_cast<int>(std::min(WebPDemuxGetI(demuxer_, WEBP_FF_FRAME_COUNT), kMax));
  }

  /// @param type  a chunk's four letters
  Bytes metadata(const char (&type)[5], std::size_t n_bytes_max) const {
    WebPChunkIterator chunk{};
    if (WebPDemuxGetChunk(demuxer_, type, 1, &chunk) == 0) return {};
    const Bytes bytes(chunk.chunk.bytes, chunk.chunk.size);
    WebPDemuxReleaseChunkIterator(&chunk);  // frees no bytes
    return bytes.size() <= n_bytes_max ? bytes : Bytes{};
  }

 private:
  WebPDemuxer* demuxer_ = nullptr;
  WebPIterator frame_{};
  bool has_frame_ = false;
};

/// The frame's pixels, straight alpha.
MediaError decode_frame(const WebPIterator& frame, bool has_alpha, std::vector<std::uint8_t>& out) {
  const int stride = frame.width * (has_alpha ? 4 : 3);
  out.resize(static_cast<std::size_t>(stride) * static_cast<std::size_t>(frame.height));
  const auto decode = has_alpha ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  const bool done =
      decode(frame.fragment.bytes, frame.fragment.size, out.data(), out.size(), stride) != nullptr;
  return done ? MediaError::kNone : MediaError::kInvalid;
}

struct AnimDeleter {
  void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
};

}  // namespace

ImageHeader read_webp_header(Bytes file, const wire::ImageLimits& limits) {
  const Container container(file);
  if (!container.is_sound()) return refused(MediaFormat::kWebp, MediaError::kInvalid);
  ImageHeader header;
  header.format = MediaFormat::kWebp;
  header.stored = container.canvas();
  header.orientation = parse_exif_orientation(container.metadata("EXIF", limits.exif_bytes_max));
  return header;
}

MediaError decode_webp(Bytes file, const wire::ImageLimits& limits, PixelWriter& writer) {
  const Container container(file);
  if (!container.is_sound() || container.canvas() != writer.stored()) return MediaError::kInvalid;
  const WebPIterator& frame = container.frame();
  WebPBitstreamFeatures features{};
  if (WebPGetFeatures(frame.fragment.bytes, frame.fragment.size, &features) != VP8_STATUS_OK ||
      features.width != frame.width || features.height != frame.height) {
    return MediaError::kInvalid;
  }

  const ImageSize canvas = writer.stored();
  const bool fills_canvas = ImageSize{frame.width, frame.height} == canvas;
  const bool has_alpha = features.has_alpha != 0 || !fills_canvas;
  std::vector<std::uint8_t> pixels;
  const MediaError error = decode_frame(frame, has_alpha, pixels);
  if (error != MediaError::kNone) return error;

  writer.begin({ColorModel::kRgb, has_alpha}, container.metadata("ICCP", limits.icc_bytes_max));
  const std::size_t n_row_bytes = static_cast<std::size_t>(frame.width) * (has_alpha ? 4 : 3);
  // What a frame leaves uncovered is transparent.
  const std::vector<std::uint8_t> empty_row(
      fills_canvas ? 0 : static_cast<std::size_t>(canvas.width) * 4);
  std::vector<std::uint8_t> row = empty_row;
  const std::size_t indent = static_cast<std::size_t>(frame.x_offset) * 4;
  for (int y = 0; y < canvas.height; ++y) {
    const int frame_y = y - frame.y_offset;
    if (frame_y < 0 || frame_y >= frame.height) {
      writer.write_row(empty_row.data());
      continue;
    }
    const std::uint8_t* source = pixels.data() + static_cast<std::size_t>(frame_y) * n_row_bytes;
    if (fills_canvas) {
      writer.write_row(source);
      continue;
    }
    std::copy_n(source, n_row_bytes, row.data() + indent);
    writer.write_row(row.data());
  }
  return MediaError::kNone;
}

int count_webp_frames(Bytes file, const wire::ImageLimits& /*limits*/) {
  const Container container(file);
  return container.is_sound() ? container.n_frames() : 0;
}

MediaError decode_webp_frames(Bytes file, const wire::ImageLimits& limits, FrameWriter& writer) {
  const Container container(file);
  if (!container.is_sound() || container.canvas() != writer.stored()) return MediaError::kInvalid;
  const Bytes icc = container.metadata("ICCP", limits.icc_bytes_max);
  WebPAnimDecoderOptions options;
  if (WebPAnimDecoderOptionsInit(&options) == 0) return MediaError::kWorkerFailed;
  options.color_mode = MODE_RGBA;
  options.use_threads = 0;
  const WebPData data{file.data(), file.size()};
  const std::unique_ptr<WebPAnimDecoder, AnimDeleter> decoder(WebPAnimDecoderNew(&data, &options));
  if (!decoder) return MediaError::kInvalid;
  while (!writer.is_complete()) {  // each turn takes a frame of the file
    std::uint8_t* canvas = nullptr;
    int end_ms = 0;
    if (WebPAnimDecoderGetNext(decoder.get(), &canvas, &end_ms) == 0) return MediaError::kInvalid;
    writer.next(canvas, icc);
  }
  return MediaError::kNone;
}

}  // namespace tessera::media
