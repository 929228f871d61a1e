#include "media/sniff.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace tessera::media {
namespace {

using std::string_view_literals::operator""sv;

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  FileKind kind;
};

// Two entries with one offset never share a prefix, so that their order does not matter.
constexpr std::array kSignatures{
    Signature{0, "\xFF\xD8\xFF"sv, FileKind::kJpeg},
    Signature{0, "\x89PNG\r\n\x1A\n"sv, FileKind::kPng},
    Signature{0, "GIF87a"sv, FileKind::kGif},
    Signature{0, "GIF89a"sv, FileKind::kGif},
    Signature{0, "BM"sv, FileKind::kBmp},
    Signature{0, "\0\0\1\0"sv, FileKind::kIcon},
    Signature{0, "\xFF\x4F\xFF\x51"sv, FileKind::kJpeg2000},
    Signature{0, "\0\0\0\x0CjP  "sv, FileKind::kJpeg2000},
    Signature{0, "\xFF\x0A"sv, FileKind::kJpegXl},
    Signature{0, "\0\0\0\x0CJXL "sv, FileKind::kJpegXl},
    Signature{0, "%PDF"sv, FileKind::kPdf},
    Signature{0, "II*\0"sv, FileKind::kTiff},
    Signature{0, "MM\0*"sv, FileKind::kTiff},
    Signature{0, "II+\0"sv, FileKind::kTiff},
    Signature{0, "MM\0+"sv, FileKind::kTiff},
    Signature{0, "\x1A\x45\xDF\xA3"sv, FileKind::kVideo},  // Matroska, WebM
    Signature{4, "moov"sv, FileKind::kVideo},              // QuickTime before it had brands
    Signature{4, "mdat"sv, FileKind::kVideo},
    Signature{4, "wide"sv, FileKind::kVideo},
};

// Brands of ISO base media files; a file with none of them first is taken for a video.
struct Brand {
  std::string_view name;
  FileKind kind;
};
constexpr std::array kBrands{
    Brand{"avif"sv, FileKind::kAvif}, Brand{"avis"sv, FileKind::kAvif},
    Brand{"heic"sv, FileKind::kHeic}, Brand{"heix"sv, FileKind::kHeic},
    Brand{"heim"sv, FileKind::kHeic}, Brand{"heis"sv, FileKind::kHeic},
    Brand{"hevc"sv, FileKind::kHeic}, Brand{"hevx"sv, FileKind::kHeic},
};

// Brands of any HEIF file. Which codec it uses stands among the compatible brands.
constexpr std::array kOpenBrands{"mif1"sv, "miaf"sv, "msf1"sv};

std::string lower_without_space(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF"sv)) text.remove_prefix(3);  // byte order mark
  const auto first = text.find_first_not_of(" \t\r\n"sv);
  if (first == std::string_view::npos) return {};
  std::string lower(text.substr(first));
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

FileKind sniff_markup(std::string_view head) {
  const std::string text = lower_without_space(head);
  if (text.starts_with("<svg") || text.starts_with("<?xml") || text.starts_with("<!doctype svg")) {
    return FileKind::kSvg;
  }
  if (text.starts_with("<!doctype html") || text.starts_with("<html")) return FileKind::kHtml;
  return FileKind::kUnknown;
}

/// @param head  ≥ 12 bytes
FileKind sniff_brands(std::string_view head) {
  const auto kind_of = [](std::string_view name) {
    const auto* brand = std::ranges::find(kBrands, name, &Brand::name);
    return brand != kBrands.end() ? brand->kind : FileKind::kVideo;
  };
  const std::string_view major = head.substr(8, 4);
  if (std::ranges::find(kOpenBrands, major) == kOpenBrands.end()) return kind_of(major);
  constexpr std::size_t kFirstCompatible = 16;  // behind the minor version
  for (std::size_t at = kFirstCompatible; at + 4 <= head.size(); at += 4) {
    const FileKind kind = kind_of(head.substr(at, 4));
    if (kind != FileKind::kVideo) return kind;
  }
  return FileKind::kHeic;
}

FileKind sniff_container(std::string_view head) {
  if (head.starts_with("RIFF"sv)) {
    if (head.substr(std::min<std::size_t>(8, head.size())).starts_with("WEBP"sv)) {
      return FileKind::kWebp;
    }
    return head.substr(std::min<std::size_t>(8, head.size())).starts_with("AVI "sv)
               ? FileKind::kOtherVideo
               : FileKind::kUnknown;
  }
  if (head.size() >= 12 && head.substr(4, 4) == "ftyp"sv) return sniff_brands(head);
  return FileKind::kUnknown;
}

}  // namespace

FileKind sniff_format(std::span<const std::byte> head) {
  const auto* chars = reinterpret_cast<const char*>(head.data());
  const std::string_view text(chars, std::min(head.size(), kSniffBytes));
  for (const Signature& signature : kSignatures) {
    if (text.size() >= signature.offset + signature.bytes.size() &&
        text.substr(signature.offset, signature.bytes.size()) == signature.bytes) {
      return signature.kind;
    }
  }
  const FileKind kind = sniff_container(text);
  return kind != FileKind::kUnknown ? kind : sniff_markup(text);
}

std::optional<MediaFormat> decodable(FileKind kind) {
  switch (kind) {
    case FileKind::kJpeg:
      return MediaFormat::kJpeg;
    case FileKind::kPng:
      return MediaFormat::kPng;
    case FileKind::kWebp:
      return MediaFormat::kWebp;
    case FileKind::kGif:
      return MediaFormat::kGif;
    case FileKind::kAvif:
      return MediaFormat::kAvif;
    case FileKind::kHeic:
      return MediaFormat::kHeic;
    case FileKind::kVideo:
      return MediaFormat::kVideo;
    case FileKind::kBmp:
    case FileKind::kHtml:
    case FileKind::kIcon:
    case FileKind::kJpeg2000:
    case FileKind::kJpegXl:
    case FileKind::kPdf:
    case FileKind::kSvg:
    case FileKind::kTiff:
    case FileKind::kOtherVideo:
    case FileKind::kUnknown:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string_view describe(FileKind kind) {
  switch (kind) {
    case FileKind::kJpeg:
      return "JPEG";
    case FileKind::kPng:
      return "PNG";
    case FileKind::kWebp:
      return "WebP";
    case FileKind::kGif:
      return "GIF";
    case FileKind::kAvif:
      return "AVIF";
    case FileKind::kBmp:
      return "BMP";
    case FileKind::kHeic:
      return "HEIC";
    case FileKind::kHtml:
      return "an HTML page";
    case FileKind::kIcon:
      return "ICO";
    case FileKind::kJpeg2000:
      return "JPEG 2000";
    case FileKind::kJpegXl:
      return "JPEG XL";
    case FileKind::kPdf:
      return "PDF";
    case FileKind::kSvg:
      return "an SVG or other XML document";
    case FileKind::kTiff:
      return "TIFF";
    case FileKind::kVideo:
      return "a video";
    case FileKind::kOtherVideo:
      return "a video in this container";
    case FileKind::kUnknown:
      return "an unknown kind of file";
  }
  return "an unknown kind of file";
}

}  // namespace tessera::media
