// Which of the worker programs decodes a file. Each class has a zygote, a list of system calls and
// limits of its own, and is the only one that links its libraries: what a file can reach is what
// its kind needs. A closed set: these are values of a metric's label.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "media/sniff.h"

namespace tessera::media {

enum class DecoderClass : std::uint8_t { kImage, kVideo, kHeif };

inline constexpr std::array kDecoderClasses{DecoderClass::kImage, DecoderClass::kVideo,
                                            DecoderClass::kHeif};

/// "image", …
constexpr std::string_view to_string(DecoderClass decoder_class) {
  switch (decoder_class) {
    case DecoderClass::kImage:
      return "image";
    case DecoderClass::kVideo:
      return "video";
    case DecoderClass::kHeif:
      return "heif";
  }
  return "?";
}

constexpr DecoderClass class_of(MediaFormat format) {
  if (format == MediaFormat::kVideo) return DecoderClass::kVideo;
  return format == MediaFormat::kHeic ? DecoderClass::kHeif : DecoderClass::kImage;
}

}  // namespace tessera::media
