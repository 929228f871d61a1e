// Probe and decode in one call, in this process. For the codecs' tests only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "core/limits.h"
#include "media/codecs/decoder.h"
#include "media/validate.h"

namespace tessera::media {

struct Decoded {
  MediaError error = MediaError::kNone;
  ImageSize size;
  std::vector<std::uint8_t> rgb;
};

/// @param target  none = the whole size
inline Decoded decode_for_test(Bytes file, std::optional<ImageSize> target = {}) {
  const auto limits = image_limits(Limits{});
  const ImageHeader header = probe_image(file, limits);
  if (header.error != MediaError::kNone) return {header.error, header.oriented(), {}};
  Decoded decoded{MediaError::kNone, target.value_or(header.oriented()), {}};
  decoded.rgb.resize(rgb_bytes(decoded.size));
  decoded.error = decode_image(file, limits, decoded.size, decoded.rgb);
  return decoded;
}

/// Largest difference of two pictures' bytes; 256 when their lengths differ.
inline int max_difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  if (a.size() != b.size()) return 256;
  int largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// [n][3] of one colour.
inline std::vector<std::uint8_t> filled(std::size_t n, std::uint8_t r, std::uint8_t g,
                                        std::uint8_t b) {
  std::vector<std::uint8_t> rgb;
  for (std::size_t i = 0; i < n; ++i) rgb.insert(rgb.end(), {r, g, b});
  return rgb;
}

}  // namespace tessera::media
