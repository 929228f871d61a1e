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
  AVStream& stream(unsigned index) { return *format_->streams[index]; }
  AVStream& add_stream() { return *::avformat_new_stream(format_, nullptr); }

  void write_header(const char* options) {
    AVDictionary* dictionary = nullptr;
    set_options(&dictionary, options);
    TSR_CHECK(::avformat_write_header(format_, &dictionary) >= 0);
    ::av_dict_free(&dictionary);
  }

  /// Empties the packet.
  void write(AVPacket& packet, int stream = 0) {
    packet.stream_index = stream;
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

AvPtr<AVCodecContext> open_encoder(const ClipOptions& options, ImageSize size,
                                   bool has_global_header) {
  const AVCodec* const codec = ::avcodec_find_encoder_by_name(options.encoder);
  TSR_CHECK(codec != nullptr);
  auto context = owned(::avcodec_alloc_context3(codec));
  context->width = size.width;
  context->height = size.height;
  context->pix_fmt = std::string_view(options.encoder) == "mjpeg"
                         ? AV_PIX_FMT_YUVJ420P
                         : ::av_get_pix_fmt(options.pixel_format);
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

ByteVector painted(const ClipOptions& options, ImageSize size, int frame) {
  const std::uint8_t level = level_of(frame);
  if (!options.paint) return ByteVector(static_cast<std::size_t>(size.pixels()) * 3, level);
  ByteVector rgb;
  rgb.reserve(static_cast<std::size_t>(size.pixels()) * 3);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const Rgb colour = options.paint(frame, x, y);
      rgb.insert(rgb.end(), colour.begin(), colour.end());
    }
  }
  return rgb;
}

/// One encoder with what it is fed from.
struct Pictures {
  AvPtr<AVCodecContext> encoder;
  AvPtr<AVFrame> frame;
  AvPtr<SwsContext> scaler;
};

Pictures open_pictures(const ClipOptions& options, ImageSize size, bool has_global_header) {
  Pictures pictures;
  pictures.encoder = open_encoder(options, size, has_global_header);
  pictures.frame = owned(::av_frame_alloc());
  AVFrame& frame = *pictures.frame;
  frame.format = pictures.encoder->pix_fmt;
  frame.width = size.width;
  frame.height = size.height;
  TSR_CHECK(::av_frame_get_buffer(&frame, 0) >= 0);
  pictures.scaler =
      owned(::sws_getContext(frame.width, frame.height, AV_PIX_FMT_RGB24, frame.width, frame.height,
                             static_cast<AVPixelFormat>(frame.format),
                             SWS_BILINEAR | SWS_ACCURATE_RND, nullptr, nullptr, nullptr));
  return pictures;
}

void draw(const ClipOptions& options, int index, Pictures& pictures) {
  AVFrame& frame = *pictures.frame;
  const ByteVector rgb = painted(options, {frame.width, frame.height}, index);
  const std::array<const std::uint8_t*, 4> planes{rgb.data(), nullptr, nullptr, nullptr};
  const std::array<int, 4> strides{frame.width * 3, 0, 0, 0};
  TSR_CHECK(::av_frame_make_writable(&frame) >= 0);
  ::sws_scale(pictures.scaler.get(), planes.data(), strides.data(), 0, frame.height, frame.data,
              frame.linesize);
  const std::int64_t ms = options.timestamps_ms.empty()
                              ? std::int64_t{index} * 1000 / options.frames_per_second
                              : options.timestamps_ms[static_cast<std::size_t>(index)];
  frame.pts = ::av_rescale_q(ms, kMilliseconds, pictures.encoder->time_base);
}

/// @param last  becomes a copy of the last packet
void write_packets(AVCodecContext& encoder, Muxer& muxer, AVPacket& last) {
  const auto packet = owned(::av_packet_alloc());
  while (::avcodec_receive_packet(&encoder, packet.get()) >= 0) {
    ::av_packet_rescale_ts(packet.get(), encoder.time_base, muxer.stream(0).time_base);
    ::av_packet_unref(&last);
    TSR_CHECK(::av_packet_ref(&last, packet.get()) >= 0);
    muxer.write(*packet);
  }
}

/// @param frame  nothing = the end of the pictures
void encode(const Pictures& pictures, const AVFrame* frame, Muxer& muxer, AVPacket& last) {
  TSR_CHECK(::avcodec_send_frame(pictures.encoder.get(), frame) >= 0);
  write_packets(*pictures.encoder, muxer, last);
}

void repeat(const ClipOptions& options, const AVPacket& last, Muxer& muxer) {
  const auto packet = owned(::av_packet_alloc());
  const std::int64_t step =
      ::av_rescale_q(1, AVRational{1, options.frames_per_second}, muxer.stream(0).time_base);
  for (int i = 1; i <= options.n_repeats; ++i) {
    TSR_CHECK(::av_packet_ref(packet.get(), &last) >= 0);
    packet->pts += i * step;
    packet->dts += i * step;
    muxer.write(*packet);
  }
}

constexpr int kSoundRate = 44'100;
constexpr int kSoundFrame = 1024;  // samples of an AAC packet

void add_sound(Muxer& muxer) {
  AVStream& stream = muxer.add_stream();
  AVCodecParameters& sound = *stream.codecpar;
  sound.codec_type = AVMEDIA_TYPE_AUDIO;
  sound.codec_id = AV_CODEC_ID_AAC;
  sound.sample_rate = kSoundRate;
  sound.frame_size = kSoundFrame;
  ::av_channel_layout_default(&sound.ch_layout, 2);
  constexpr std::array<std::uint8_t, 2> kConfig{0x12, 0x10};  // AAC-LC, 44.1 kHz, stereo
  sound.extradata =
      static_cast<std::uint8_t*>(::av_mallocz(kConfig.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  TSR_CHECK(sound.extradata != nullptr);
  std::ranges::copy(kConfig, sound.extradata);
  sound.extradata_size = static_cast<int>(kConfig.size());
  stream.time_base = {1, kSoundRate};
}

void write_sound(const ClipOptions& options, Muxer& muxer) {
  constexpr int kBytes = 200;
  const auto packet = owned(::av_packet_alloc());
  std::uint32_t state = 5;
  for (int i = 0; i < options.n_sound_packets; ++i) {
    TSR_CHECK(::av_new_packet(packet.get(), kBytes) >= 0);
    for (int at = 0; at < kBytes; ++at) {
      state = state * 1'664'525U + 1'013'904'223U;
      packet->data[at] = static_cast<std::uint8_t>(state >> 24U);
    }
    packet->pts = packet->dts =
        ::av_rescale_q(std::int64_t{i} * kSoundFrame, {1, kSoundRate}, muxer.stream(1).time_base);
    packet->duration = kSoundFrame;
    muxer.write(*packet, 1);
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
  Pictures pictures = open_pictures(options, options.size, has_global_header);
  AVStream& stream = muxer.add_stream();
  TSR_CHECK(::avcodec_parameters_from_context(stream.codecpar, pictures.encoder.get()) >= 0);
  stream.time_base = pictures.encoder->time_base;
  stream.avg_frame_rate = pictures.encoder->framerate;
  add_rotation(stream, options.rotation);
  if (options.n_sound_packets > 0) add_sound(muxer);
  muxer.write_header(options.muxer_options);

  write_sound(options, muxer);
  const auto last = owned(::av_packet_alloc());
  for (int i = 0; i < options.n_frames; ++i) {
    if (options.resized_from > 0 && i == options.resized_from) {
      encode(pictures, nullptr, muxer, *last);
      pictures = open_pictures(options, options.resized, false);  // its size is in its packets
    }
    draw(options, i, pictures);
    encode(pictures, pictures.frame.get(), muxer, *last);
  }
  encode(pictures, nullptr, muxer, *last);
  repeat(options, *last, muxer);
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
