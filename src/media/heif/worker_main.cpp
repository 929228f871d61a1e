// tessera-heif-worker: the zygote of the HEIC decoders. Started by the server with one socket and
// nothing else; not for use by hand.
#include "media/codecs/serve.h"
#include "media/heif/heif_decoder.h"

int main() {
  namespace media = tessera::media;
  media::run_decoder_program({media::heif::heif_decoder(), media::heif::warm_up_heif,
                              tessera::sandbox::CallList::kThreadedDecoder});
}
