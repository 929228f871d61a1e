// tessera-video-worker: the zygote of the video decoders. Started by the server with one socket and
// nothing else; not for use by hand.
#include "media/codecs/serve.h"
#include "media/video/video_decoder.h"

int main() {
  namespace media = tessera::media;
  media::run_decoder_program({media::video::video_decoder(), media::video::warm_up_video,
                              tessera::sandbox::CallList::kDecoder});
}
