#include "encode/encode_times.h"

#include <algorithm>
#include <bit>

namespace tessera::encode {

void EncodeTimes::record(int n_patches, Duration duration) {
  if (n_patches < 1) return;
  const auto log = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(n_patches)) - 1);
  Size& size = sizes_[std::min(log, kSizes - 1)];
  size.shortest = size.n_patches_max == 0 ? duration : std::min(size.shortest, duration);
  size.n_patches_max = std::max(size.n_patches_max, n_patches);
}

Duration EncodeTimes::at_least(int n_patches) const {
  Duration least{};
  for (const Size& size : sizes_) {
    if (size.n_patches_max == 0 || size.n_patches_max > n_patches) continue;
    least = std::max(least, size.shortest);
  }
  return least / kFasterAtMost;
}

}  // namespace tessera::encode
