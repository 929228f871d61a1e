// The size of a key picture from its own headers: before there is a decoder, or memory for a
// picture. What a container says of it need not be true.
//
// libav's parsers read H.264, HEVC, VP8 and AV1; VP9's tells no size, and its header is short.
// @thread one thread at a time
#pragma once

#include <optional>

#include "media/codecs/codec.h"
#include "media/video/libav.h"

namespace tessera::media::video {

class SizeReader {
 public:
  /// @param stream  outlives this
  explicit SizeReader(const AVStream& stream);

  /// What a decoder would show, cropped. Packets come in decode order; some may be left out.
  /// @return  nothing when the packet does not tell, as those of pictures that need others
  std::optional<ImageSize> read(const AVPacket& packet);

 private:
  const AVStream& stream_;
  AvPtr<AVCodecContext> context_;  // never opened: holds what the container says
  AvPtr<AVCodecParserContext> parser_;
};

/// Of a VP9 key frame.
std::optional<ImageSize> vp9_size(Bytes packet);

}  // namespace tessera::media::video
