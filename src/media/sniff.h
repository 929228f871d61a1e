// What a file is, from its first bytes alone. Pure; used by the server to refuse early and by the
// worker to choose a codec. Names and content types that a client sends are not looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tessera::media {

/// What the workers decode. The numbers cross the process border (wire.h).
enum class MediaFormat : std::uint32_t {
  kJpeg = 1,
  kPng = 2,
  kWebp = 3,
  kGif = 4,
  kAvif = 5,
  kVideo = 6,  // ISO base media or Matroska
  kHeic = 7,
};

/// For messages.
inline constexpr std::string_view kSupportedFormats =
    "JPEG, PNG, WebP, GIF, AVIF; where this server allows it, HEIC and a video in MP4, QuickTime, "
    "Matroska or WebM";

/// What is told apart, so that a refusal can name it.
enum class FileKind {
  kJpeg,
  kPng,
  kWebp,
  kGif,
  kAvif,
  kBmp,
  kHeic,
  kHtml,
  kIcon,
  kJpeg2000,
  kJpegXl,
  kPdf,
  kSvg,
  kTiff,
  kVideo,
  kOtherVideo,  // a container that no decoder of ours reads
  kUnknown,
};

/// No signature is longer.
inline constexpr std::size_t kSniffBytes = 32;

/// @param head  the file's first bytes; kSniffBytes or the whole file are enough
FileKind sniff_format(std::span<const std::byte> head);

/// The format of kinds that a worker decodes, whether this server runs that worker or not.
std::optional<MediaFormat> decodable(FileKind kind);

/// "JPEG", "an SVG or other XML document", …: fits into "… is not supported".
std::string_view describe(FileKind kind);

}  // namespace tessera::media
