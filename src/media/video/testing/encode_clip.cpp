#include "media/video/testing/encode_clip.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "core/check.h"
#include "media/video/libav.h"

namespace tessera::media::video::testing {
namespace {

constexpr int kLevels = 30;
constexpr int kLevelStep = 8;
constexpr AVRational kMilliseconds{1, 1000};

void set_options(AVDictionary** dictionary, const char* text) {
  TSR_CHECK(::av_dict_parse_string(dictionary, text, "=", ":", 0) >= 0);
}

/// Of libx264 and its like: small delays, no words, one thread.
const char* encoder_options(std::string_view encoder) {
  if (encoder == "libx264") return "preset=veryfast:crf=8:x264-params=scenecut=0";
  if (encoder == "libx265") return "preset=ultrafast:crf=8:x265-params=log-level=none";
  if (encoder == "libaom-av1") return "cpu-used=8:crf=10:usage=realtime:row-mt=0";
  if (encoder.starts_with("libvpx")) return "deadline=realtime:cpu-used=8:crf=8";
  return "";
}

/// A container that is written to memory.
class Muxer {
 public:
  explicit Muxer(const char* container) {
    AVFormatContext* format = nullptr;
    TSR_CHECK(::avformat_alloc_output_context2(&format, nullptr, container, nullptr) >= 0);
    format_ = format;
    TSR_CHECK(::avio_open_dyn_buf(&format_->pb) >= 0);
  }
  Muxer(const Muxer&) = delete;
  Muxer& operator=(const Muxer&) = delete;
  ~Muxer() { ::avformat_free_context(format_); }

  AVFormatContext& format() { return *format_; }
  AVStream& add_stream() { return *::avformat_new_stream(format_, nullptr); }

  void write_header(const char* options) {
    AVDictionary* dictionary = nullptr;
    set_options(&dictionary, options);
    TSR_CHECK(::avformat_write_header(format_, &dictionary) >= 0);
    ::av_dict_free(&dictionary);
  }

  void write(AVPacket& packet) {
    packet.stream_index = 0;
    TSR_CHECK(::av_interleaved_write_frame(format_, &packet) >= 0);
  }

  ByteVector finish() {
    TSR_CHECK(::av_write_trailer(format_) >= 0);
    std::uint8_t* bytes = nullptr;
    const int n_bytes = ::avio_close_dyn_buf(format_->pb, &bytes);
    ByteVector file(bytes, bytes + n_bytes);
    ::av_free(bytes);
    format_->pb = nullptr;
    return file;
  }

 private:
  AVFormatContext* format_ = nullptr;
};

AvPtr<AVCodecContext> open_encoder(const ClipOptions& options, bool has_global_header) {
  const AVCodec* const codec = ::avcodec_find_encoder_by_name(options.encoder);
  TSR_CHECK(codec != nullptr);
  auto context = owned(::avcodec_alloc_context3(codec));
  context->width = options.size.width;
  context->height = options.size.height;
  context->pix_fmt =
      std::string_view(options.encoder) == "mjpeg" ? AV_PIX_FMT_YUVJ420P : AV_PIX_FMT_YUV420P;
  context->time_base = kMilliseconds;
  context->framerate = {options.frames_per_second, 1};
  context->gop_size = options.group;
  context->keyint_min = options.group;
  if (std::string_view(options.encoder).starts_with("libx")) {
    context->max_b_frames = options.n_b_frames;
  }
  context->thread_count = 1;
  context->bit_rate = 4'000'000;
  if (has_global_header) context->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  if (std::string_view(options.encoder) == "mpeg4") context->time_base = {1, 25};
  AVDictionary* dictionary = nullptr;
  set_options(&dictionary, encoder_options(options.encoder));
  media::testing::allow_leaks_of_x265();
  TSR_CHECK(::avcodec_open2(context.get(), codec, &dictionary) >= 0);
  ::av_dict_free(&dictionary);
  return context;
}

void add_rotation(AVStream& stream, double degrees) {
  if (degrees == 0) return;
  std::uint8_t* const data =
      ::av_stream_new_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof(std::int32_t));
  TSR_CHECK(data != nullptr);
  ::av_display_rotation_set(reinterpret_cast<std::int32_t*>(data), degrees);
}

ByteVector painted(const ClipOptions& options, int frame) {
  ByteVector rgb;
  rgb.reserve(static_cast<std::size_t>(options.size.pixels()) * 3);
  for (int y = 0; y < options.size.height; ++y) {
    for (int x = 0; x < options.size.width; ++x) {
      const std::uint8_t level = level_of(frame);
      const Rgb colour = options.paint ? options.paint(frame, x, y) : Rgb{level, level, level};
      rgb.insert(rgb.end(), colour.begin(), colour.end());
    }
  }
  return rgb;
}

AvPtr<SwsContext> to_yuv(const AVFrame& frame) {
  return owned(::sws_getContext(frame.width, frame.height, AV_PIX_FMT_RGB24, frame.width,
                                frame.height, static_cast<AVPixelFormat>(frame.format),
                                SWS_BILINEAR | SWS_ACCURATE_RND, nullptr, nullptr, nullptr));
}

void draw(const ClipOptions& options, int index, SwsContext& scaler, AVFrame& frame) {
  const ByteVector rgb = painted(options, index);
  const std::array<const std::uint8_t*, 4> planes{rgb.data(), nullptr, nullptr, nullptr};
  const std::array<int, 4> strides{frame.width * 3, 0, 0, 0};
  TSR_CHECK(::av_frame_make_writable(&frame) >= 0);
  ::sws_scale(&scaler, planes.data(), strides.data(), 0, frame.height, frame.data, frame.linesize);
}

void write_packets(AVCodecContext& encoder, const AVStream& stream, Muxer& muxer) {
  const auto packet = owned(::av_packet_alloc());
  while (::avcodec_receive_packet(&encoder, packet.get()) >= 0) {
    ::av_packet_rescale_ts(packet.get(), encoder.time_base, stream.time_base);
    muxer.write(*packet);
  }
}

}  // namespace

std::uint8_t level_of(int frame) {
  return static_cast<std::uint8_t>(8 + kLevelStep * (frame % kLevels));
}

int frame_of(std::uint8_t level) {
  const int nearest = (level - 8 + kLevelStep / 2) / kLevelStep;
  return std::abs(level_of(nearest) - level) <= 3 ? nearest : -1;
}

ByteVector encode_clip(const ClipOptions& options) {
  ::av_log_set_level(AV_LOG_QUIET);
  Muxer muxer(options.container);
  const bool has_global_header = (muxer.format().oformat->flags & AVFMT_GLOBALHEADER) != 0;
  const auto encoder = open_encoder(options, has_global_header);
  AVStream& stream = muxer.add_stream();
  TSR_CHECK(::avcodec_parameters_from_context(stream.codecpar, encoder.get()) >= 0);
  stream.time_base = encoder->time_base;
  stream.avg_frame_rate = encoder->framerate;
  add_rotation(stream, options.rotation);
  muxer.write_header(options.muxer_options);

  const auto frame = owned(::av_frame_alloc());
  frame->format = encoder->pix_fmt;
  frame->width = options.size.width;
  frame->height = options.size.height;
  TSR_CHECK(::av_frame_get_buffer(frame.get(), 0) >= 0);
  const auto scaler = to_yuv(*frame);
  for (int i = 0; i < options.n_frames; ++i) {
    draw(options, i, *scaler, *frame);
    const std::int64_t ms = options.timestamps_ms.empty()
                                ? std::int64_t{i} * 1000 / options.frames_per_second
                                : options.timestamps_ms[static_cast<std::size_t>(i)];
    frame->pts = ::av_rescale_q(ms, kMilliseconds, encoder->time_base);
    TSR_CHECK(::avcodec_send_frame(encoder.get(), frame.get()) >= 0);
    write_packets(*encoder, stream, muxer);
  }
  TSR_CHECK(::avcodec_send_frame(encoder.get(), nullptr) >= 0);
  write_packets(*encoder, stream, muxer);
  return muxer.finish();
}

ByteVector encode_sound(int n_streams) {
  Muxer muxer("matroska");
  for (int i = 0; i < n_streams; ++i) {
    AVStream& stream = muxer.add_stream();
    stream.codecpar->codec_type = AVMEDIA_TYPE_AUDIO;
    stream.codecpar->codec_id = AV_CODEC_ID_PCM_S16LE;
    stream.codecpar->format = AV_SAMPLE_FMT_S16;
    stream.codecpar->sample_rate = 8000;
    stream.codecpar->bits_per_coded_sample = 16;
    ::av_channel_layout_default(&stream.codecpar->ch_layout, 1);
    stream.time_base = {1, 8000};
  }
  muxer.write_header("");
  constexpr int kBytes = 1600;
  const auto packet = owned(::av_packet_alloc());
  TSR_CHECK(::av_new_packet(packet.get(), kBytes) >= 0);
  std::fill_n(packet->data, kBytes, std::uint8_t{0});
  packet->pts = packet->dts = 0;
  muxer.write(*packet);
  return muxer.finish();
}

}  // namespace tessera::media::video::testing
