// A worker of any class whose decoder runs out of memory, one allocation later with each child
// (failing_malloc.h). The name that it is started under begins with its class. For tests.
#include <string>
#include <string_view>

#include "hostile/failing_malloc.h"
#include "media/codecs/serve.h"
#include "media/codecs/warm_up.h"
#include "media/heif/heif_decoder.h"
#include "media/video/video_decoder.h"

namespace {

namespace media = tessera::media;
using tessera::hostile::starve;

media::DecoderProgram program_of(std::string_view name) {
  using tessera::sandbox::CallList;
  if (name.starts_with("video")) {
    return {media::video::video_decoder(), media::video::warm_up_video, CallList::kDecoder};
  }
  if (name.starts_with("heif")) {
    return {media::heif::heif_decoder(), media::heif::warm_up_heif, CallList::kThreadedDecoder};
  }
  return {media::image_decoder(), media::warm_up, CallList::kDecoder};
}

// Of the program; a decoder is made of plain functions.
media::DecoderProgram fed;

media::Probe probe(media::Bytes file, int n_frames_wanted,
                   const media::wire::ImageLimits& limits) noexcept {
  starve();
  return fed.decoder.probe(file, n_frames_wanted, limits);
}

media::MediaError decode_frames(media::Bytes file, const media::wire::ImageLimits& limits,
                                tessera::ImageSize target, std::span<const std::uint32_t> frames,
                                std::span<std::uint8_t> out) noexcept {
  return fed.decoder.decode_frames(file, limits, target, frames, out);
}

}  // namespace

int main(int /*argc*/, char** argv) {
  const std::string path = argv[0];
  const std::string name = path.substr(path.rfind('/') + 1);
  fed = program_of(name);
  tessera::hostile::prepare_to_starve();
  media::run_decoder_program({{probe, decode_frames}, fed.warm_up, fed.calls});
}
