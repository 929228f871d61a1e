// What decoding a request's files is done with. Values; the zygotes are borrowed and outlive them.
#pragma once

#include <chrono>

#include "media/decoder_class.h"
#include "sandbox/zygote.h"

namespace tessera::media {

/// Of each class; null = that class is off.
struct DecoderZygotes {
  sandbox::Zygote* image = nullptr;
  sandbox::Zygote* video = nullptr;
  sandbox::Zygote* heif = nullptr;

  sandbox::Zygote* of(DecoderClass decoder_class) const {
    switch (decoder_class) {
      case DecoderClass::kImage:
        return image;
      case DecoderClass::kVideo:
        return video;
      case DecoderClass::kHeif:
        return heif;
    }
    return nullptr;
  }
};

struct DecoderOptions {
  DecoderZygotes zygotes;

  /// Wall clock of the children's start, of probing all files, and of decoding them together with
  /// what follows. A child starts in about a millisecond; the rest is for a loaded machine.
  std::chrono::milliseconds base_timeout{2000};

  /// Added to decoding. The slowest format (progressive JPEG) takes about 50 ms of a core; the
  /// other classes have multiples of it (decoder_budget.h).
  std::chrono::milliseconds timeout_per_megapixel{100};
};

}  // namespace tessera::media
