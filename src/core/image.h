// Decoded pixels and their size.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera {

struct ImageSize {
  int width = 0;   // pixels
  int height = 0;  // pixels
  friend bool operator==(const ImageSize&, const ImageSize&) = default;

  /// width · height without overflow.
  std::int64_t pixels() const { return std::int64_t{width} * height; }
};

struct Image {
  ImageSize size;
  std::vector<std::uint8_t> rgb;  // [height][width][3] u8 sRGB, row-major, no padding
};

}  // namespace tessera
