#include "media/video/picture_decoder.h"

#include "media/video/demuxer.h"

namespace tessera::media::video {
namespace {

/// Errors in a row without a packet between them: a decoder that drains has at most as many
/// pictures as H.264 allows to wait.
constexpr int kDamagedMax = 17;

}  // namespace

PictureDecoder::PictureDecoder(const AVStream& stream, std::int64_t pixels_max)
    : packet_(owned(::av_packet_alloc())), frame_(owned(::av_frame_alloc())) {
  error_ = open(stream, pixels_max);
}

MediaError PictureDecoder::open(const AVStream& stream, std::int64_t pixels_max) {
  const char* const name = decoder_name(stream.codecpar->codec_id);
  const AVCodec* const codec = name == nullptr ? nullptr : ::avcodec_find_decoder_by_name(name);
  if (codec == nullptr) return MediaError::kUnsupportedVariant;
  codec_ = owned(::avcodec_alloc_context3(codec));
  int code = ::avcodec_parameters_to_context(codec_.get(), stream.codecpar);
  codec_->thread_count = 1;
  codec_->thread_type = 0;
  codec_->max_pixels = pixels_max;
  if (code >= 0) code = ::avcodec_open2(codec_.get(), codec, nullptr);
  if (code >= 0) return MediaError::kNone;
  return code == kAvNoMemory ? MediaError::kOutOfMemory : MediaError::kUnsupportedVariant;
}

MediaError PictureDecoder::decode(const AVPacket& packet, std::int32_t rank, const Sink& sink) {
  ::av_packet_unref(packet_.get());
  if (::av_packet_ref(packet_.get(), &packet) < 0) return MediaError::kOutOfMemory;
  // Decoders carry the timestamp to the picture through their reordering: it brings our rank.
  packet_->pts = rank;
  packet_->dts = kNoTimestamp;
  if (::avcodec_send_packet(codec_.get(), packet_.get()) == kAvNoMemory) {
    return MediaError::kOutOfMemory;
  }
  return receive(sink);
}

MediaError PictureDecoder::finish_range(const Sink& sink) {
  ::avcodec_send_packet(codec_.get(), nullptr);
  const MediaError error = receive(sink);
  ::avcodec_flush_buffers(codec_.get());
  return error;
}

MediaError PictureDecoder::receive(const Sink& sink) {
  for (int n_damaged = 0; n_damaged < kDamagedMax;) {
    const int code = ::avcodec_receive_frame(codec_.get(), frame_.get());
    if (code == kAvAgain || code == kAvEof) return MediaError::kNone;
    if (code == kAvNoMemory) return MediaError::kOutOfMemory;
    if (code < 0) {
      ++n_damaged;
      continue;
    }
    const std::int64_t rank = frame_->pts;
    if (rank < 0 || rank > INT32_MAX) continue;
    const MediaError error = sink(*frame_, static_cast<std::int32_t>(rank));
    if (error != MediaError::kNone) return error;
  }
  return MediaError::kNone;
}

}  // namespace tessera::media::video
