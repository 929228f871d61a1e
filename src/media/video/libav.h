// The libav headers, which are C, and owners of what they allocate.
#pragma once

// NOLINTBEGIN: not ours
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wold-style-cast"
#pragma clang diagnostic ignored "-Wconversion"
#pragma clang diagnostic ignored "-Wsign-conversion"
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}
#pragma clang diagnostic pop
// NOLINTEND

#include <cerrno>
#include <memory>

namespace tessera::media::video {

// What the macros of the same meaning are, without their casts.
inline constexpr int kAvEof = -('E' | ('O' << 8) | ('F' << 16) | (' ' << 24));
inline constexpr int kAvPatchWelcome = -('P' | ('A' << 8) | ('W' << 16) | ('E' << 24));
inline constexpr int kAvAgain = -EAGAIN;
inline constexpr int kAvNoMemory = -ENOMEM;
inline constexpr std::int64_t kNoTimestamp = INT64_MIN;

struct AvDeleter {
  void operator()(AVFormatContext* format) const { ::avformat_close_input(&format); }
  void operator()(AVCodecContext* codec) const { ::avcodec_free_context(&codec); }
  void operator()(AVCodecParserContext* parser) const { ::av_parser_close(parser); }
  void operator()(AVPacket* packet) const { ::av_packet_free(&packet); }
  void operator()(AVFrame* frame) const { ::av_frame_free(&frame); }
  void operator()(SwsContext* scaler) const { ::sws_freeContext(scaler); }
  void operator()(AVIOContext* io) const {
    ::av_freep(static_cast<void*>(&io->buffer));
    ::avio_context_free(&io);
  }
};
template <typename T>
using AvPtr = std::unique_ptr<T, AvDeleter>;

/// @throws std::bad_alloc
template <typename T>
AvPtr<T> owned(T* allocated) {
  if (allocated == nullptr) throw std::bad_alloc();
  return AvPtr<T>(allocated);
}

}  // namespace tessera::media::video
