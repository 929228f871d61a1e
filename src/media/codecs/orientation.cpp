#include "media/codecs/orientation.h"

#include <algorithm>
#include <array>

namespace tessera::media {
namespace {

constexpr std::uint16_t kOrientationTag = 0x0112;
constexpr std::uint16_t kTypeShort = 3;
constexpr std::size_t kTiffHeaderBytes = 8;
constexpr std::size_t kEntryBytes = 12;

/// Bounds-checked reads in a byte order that the file chooses. Outside reads are 0, which is no
/// valid tag, type, count or orientation.
class TiffReader {
 public:
  TiffReader(std::span<const std::uint8_t> bytes, bool big_endian)
      : bytes_(bytes), big_endian_(big_endian) {}

  std::uint16_t u16(std::size_t at) const {
    if (at > bytes_.size() || bytes_.size() - at < 2) return 0;
    const std::uint32_t a = bytes_[at];
    const std::uint32_t b = bytes_[at + 1];
    return static_cast<std::uint16_t>(big_endian_ ? a << 8U | b : b << 8U | a);
  }

  std::uint32_t u32(std::size_t at) const {
    const std::uint32_t a = u16(at);
    const std::uint32_t b = u16(at + 2);
    return big_endian_ ? a << 16U | b : b << 16U | a;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  bool big_endian_;
};

}  // namespace

ImageSize oriented(ImageSize stored, Orientation orientation) {
  const bool swapped = orientation >= Orientation::kTranspose;
  return swapped ? ImageSize{stored.height, stored.width} : stored;
}

RowPath row_path(ImageSize stored, Orientation orientation, int y) {
  const std::ptrdiff_t w = stored.width;
  const std::ptrdiff_t h = stored.height;
  const std::ptrdiff_t mirrored_y = h - 1 - y;
  switch (orientation) {
    case Orientation::kUpright:
      return {y * w, 1};
    case Orientation::kMirrorHorizontal:
      return {y * w + w - 1, -1};
    case Orientation::kRotate180:
      return {mirrored_y * w + w - 1, -1};
    case Orientation::kMirrorVertical:
      return {mirrored_y * w, 1};
    // From here on a stored row becomes a column of an image that is h pixels wide.
    case Orientation::kTranspose:
      return {y, h};
    case Orientation::kRotate90:
      return {mirrored_y, h};
    case Orientation::kTransverse:
      return {mirrored_y + (w - 1) * h, -h};
    case Orientation::kRotate270:
      return {y + (w - 1) * h, -h};
  }
  return {y * w, 1};
}

Orientation parse_exif_orientation(std::span<const std::uint8_t> exif) {
  constexpr std::array<std::uint8_t, 6> kPrefix{'E', 'x', 'i', 'f', 0, 0};
  if (exif.size() >= kPrefix.size() && std::ranges::equal(exif.first(kPrefix.size()), kPrefix)) {
    exif = exif.subspan(kPrefix.size());
  }
  if (exif.size() < kTiffHeaderBytes || exif[0] != exif[1]) return Orientation::kUpright;
  if (exif[0] != 'I' && exif[0] != 'M') return Orientation::kUpright;
  const TiffReader reader(exif, exif[0] == 'M');
  if (reader.u16(2) != 42) return Orientation::kUpright;

  const std::size_t directory = reader.u32(4);
  // At most 65535 entries by type; the span's end bounds the walk further.
  const std::size_t n_entries = reader.u16(directory);
  for (std::size_t i = 0; i < n_entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (entry > exif.size() || exif.size() - entry < kEntryBytes) break;
    if (reader.u16(entry) != kOrientationTag) continue;
    const std::uint16_t value = reader.u16(entry + 8);
    const bool sound = reader.u16(entry + 2) == kTypeShort && reader.u32(entry + 4) == 1 &&
                       value >= 1 && value <= 8;
    return sound ? static_cast<Orientation>(value) : Orientation::kUpright;
  }
  return Orientation::kUpright;
}

}  // namespace tessera::media
