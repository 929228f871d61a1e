// The packets of a file's first video stream, from memory.
//
// The container is chosen by our own look at the first bytes, not by libav's probing; nothing is
// opened: no other file, no protocol, no external track of an MP4. Streams but the one are skipped,
// packets are not parsed. Reads headers only until next() is called.
// @thread one thread at a time
#pragma once

#include <cstddef>

#include "media/codecs/codec.h"
#include "media/video/libav.h"

namespace tessera::media::video {

class Demuxer {
 public:
  /// @param file  outlives the demuxer
  explicit Demuxer(Bytes file);
  Demuxer(const Demuxer&) = delete;
  Demuxer& operator=(const Demuxer&) = delete;

  /// kNone; kInvalid; kUnsupportedVariant (no video stream, another codec, encrypted);
  /// kUnsupportedFormat (neither ISO base media nor Matroska); kOutOfMemory.
  MediaError error() const { return error_; }

  /// Without error() only.
  const AVStream& stream() const { return *stream_; }

  /// Pictures that the file lists, as far as that can be known without reading one; at most n_max.
  /// Fragments of an MP4 are not looked into.
  int n_listed(int n_max) const;

  /// The next whole packet of the stream in decode order; null at the end, or where the file is
  /// cut, or, with error(), where it is encrypted. Valid until the next call.
  const AVPacket* next();

 private:
  MediaError open();
  MediaError choose_stream();
  static int read(void* self, std::uint8_t* out, int n) noexcept;
  static std::int64_t seek(void* self, std::int64_t offset, int whence) noexcept;

  Bytes file_;
  std::size_t at_ = 0;
  AvPtr<AVIOContext> io_;
  AvPtr<AVFormatContext> format_;  // before io_ in destruction: it reads through it
  AvPtr<AVPacket> packet_;
  const AVStream* stream_ = nullptr;
  MediaError error_ = MediaError::kNone;
};

/// The decoder's name in libavcodec, of a codec that we decode; null otherwise.
const char* decoder_name(AVCodecID codec);

}  // namespace tessera::media::video
