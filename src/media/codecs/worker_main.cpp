// tessera-media-worker: the zygote of the image decoders. Started by the server with one socket and
// nothing else; not for use by hand.
#include "media/codecs/serve.h"
#include "media/codecs/warm_up.h"

int main() {
  namespace media = tessera::media;
  media::run_decoder_program(
      {media::image_decoder(), media::warm_up, tessera::sandbox::CallList::kDecoder});
}
