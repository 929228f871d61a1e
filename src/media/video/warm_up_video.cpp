#include <array>
#include <ctime>

#include "media/codecs/warm_up.h"
#include "media/video/demuxer.h"
#include "media/video/video_decoder.h"

namespace tessera::media::video {

void warm_up_video() {
  warm_up();
  // libav's own words go to a terminal's descriptor, which it asks about by ioctl.
  ::av_log_set_level(AV_LOG_QUIET);
  constexpr std::array kCodecs{AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_VP8, AV_CODEC_ID_VP9,
                               AV_CODEC_ID_AV1};
  for (const AVCodecID id : kCodecs) {
    const AVCodec* const codec = ::avcodec_find_decoder_by_name(decoder_name(id));
    if (codec == nullptr) continue;
    const auto context = owned(::avcodec_alloc_context3(codec));
    context->thread_count = 1;
    ::avcodec_open2(context.get(), codec, nullptr);
  }
  const AvPtr<SwsContext> scaler(::sws_getContext(16, 16, AV_PIX_FMT_YUV420P, 16, 16,
                                                  AV_PIX_FMT_RGB24, SWS_BILINEAR, nullptr, nullptr,
                                                  nullptr));
}

}  // namespace tessera::media::video
