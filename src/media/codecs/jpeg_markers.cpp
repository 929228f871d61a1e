#include "media/codecs/jpeg_markers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

namespace tessera::media {
namespace {

constexpr std::uint8_t kStartOfImage = 0xD8;
constexpr std::uint8_t kEndOfImage = 0xD9;
constexpr std::uint8_t kStartOfScan = 0xDA;
constexpr std::uint8_t kApp1 = 0xE1;
constexpr std::uint8_t kTemporary = 0x01;

bool is_restart(std::uint8_t marker) {
  return marker >= 0xD0 && marker <= 0xD7;
}

/// SOF0–SOF15, without DHT, JPG and DAC, which live among them.
bool is_frame(std::uint8_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

/// Baseline, extended and progressive, with Huffman or arithmetic coding; not lossless, not
/// hierarchical.
bool is_supported_frame(std::uint8_t marker) {
  return marker == 0xC0 || marker == 0xC1 || marker == 0xC2 || marker == 0xC9 || marker == 0xCA;
}

class Cursor {
 public:
  explicit Cursor(Bytes file) : file_(file) {}

  /// Skips to the next 0xFF that starts a marker and returns the marker. Inside entropy-coded data
  /// stuffed zeros and restarts belong to the data.
  std::optional<std::uint8_t> next_marker() {
    while (at_ < file_.size()) {
      const void* found = std::memchr(file_.data() + at_, 0xFF, file_.size() - at_);
      if (found == nullptr) break;
      at_ = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - file_.data()) + 1;
      while (at_ < file_.size() && file_[at_] == 0xFF) ++at_;  // fill bytes
      if (at_ >= file_.size()) break;
      const std::uint8_t marker = file_[at_++];
      if (marker != 0 && !is_restart(marker) && marker != kTemporary) return marker;
    }
    at_ = file_.size();
    return std::nullopt;
  }

  /// The parameters of a marker segment; nothing when its length is impossible.
  std::optional<Bytes> take_segment() {
    if (file_.size() - at_ < 2) return std::nullopt;
    const std::size_t length = static_cast<std::size_t>(file_[at_] << 8U | file_[at_ + 1]);
    if (length < 2 || length > file_.size() - at_) return std::nullopt;
    const Bytes segment = file_.subspan(at_ + 2, length - 2);
    at_ += length;
    return segment;
  }

 private:
  Bytes file_;
  std::size_t at_ = 2;  // behind SOI
};

MediaError read_frame(std::uint8_t marker, Bytes segment, JpegStructure& structure) {
  if (structure.size != ImageSize{}) return MediaError::kInvalid;  // a second frame
  if (segment.size() < 6) return MediaError::kInvalid;
  structure.size = {segment[3] << 8U | segment[4], segment[1] << 8U | segment[2]};
  if (!is_supported_frame(marker) || segment[0] != 8) return MediaError::kUnsupportedVariant;
  const int n_components = segment[5];
  const bool known = n_components == 1 || n_components == 3 || n_components == 4;
  return known ? MediaError::kNone : MediaError::kUnsupportedVariant;
}

Bytes exif_of(Bytes segment) {
  constexpr std::array<std::uint8_t, 6> kPrefix{'E', 'x', 'i', 'f', 0, 0};
  const bool is_exif =
      segment.size() > kPrefix.size() && std::ranges::equal(segment.first(kPrefix.size()), kPrefix);
  return is_exif ? segment : Bytes{};
}

}  // namespace

JpegStructure read_jpeg_structure(Bytes file) {
  JpegStructure structure;
  structure.error = MediaError::kInvalid;
  if (file.size() < 4 || file[0] != 0xFF || file[1] != kStartOfImage) return structure;

  Cursor cursor(file);
  while (const auto marker = cursor.next_marker()) {
    if (*marker == kEndOfImage) {
      if (structure.n_scans > 0) structure.error = MediaError::kNone;
      return structure;
    }
    const auto segment = cursor.take_segment();
    if (!segment) return structure;
    if (is_frame(*marker)) {
      const MediaError error = read_frame(*marker, *segment, structure);
      if (error != MediaError::kNone) {
        structure.error = error;
        return structure;
      }
    } else if (*marker == kStartOfScan) {
      if (structure.size == ImageSize{}) return structure;
      ++structure.n_scans;  // bounded by the file's size
    } else if (*marker == kApp1 && structure.exif.empty()) {
      structure.exif = exif_of(*segment);
    }
  }
  return structure;  // no EOI: truncated
}

}  // namespace tessera::media
