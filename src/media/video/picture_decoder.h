// One range of packets → the pictures that they hold, through libavcodec on the calling thread.
// @thread one thread at a time
#pragma once

#include <cstdint>
#include <functional>

#include "media/codecs/codec.h"
#include "media/video/libav.h"

namespace tessera::media::video {

class PictureDecoder {
 public:
  /// Takes each picture in the order of showing, with the rank of its packet.
  /// @return  kNone to go on
  using Sink = std::function<MediaError(const AVFrame& picture, std::int32_t rank)>;

  /// @param pixels_max  of a picture; larger ones count as damaged
  PictureDecoder(const AVStream& stream, std::int64_t pixels_max);

  /// kNone, kOutOfMemory or kUnsupportedVariant: what the constructor found.
  MediaError error() const { return error_; }

  /// A damaged packet gives no picture and is no error.
  /// @return  kOutOfMemory, or the sink's word
  MediaError decode(const AVPacket& packet, std::int32_t rank, const Sink& sink);

  /// The pictures that wait for packets to come; then ready for another range.
  MediaError finish_range(const Sink& sink);

 private:
  MediaError open(const AVStream& stream, std::int64_t pixels_max);
  MediaError receive(const Sink& sink);

  AvPtr<AVCodecContext> codec_;
  AvPtr<AVPacket> packet_;
  AvPtr<AVFrame> frame_;
  MediaError error_ = MediaError::kNone;
};

}  // namespace tessera::media::video
