// The shortest time that an encode can take, from those that there were: none of more patches takes
// less than the shortest of fewer. Nothing is said of sizes below all that were seen, nor of an
// encoder that takes several tiles at once, where a tile's part shrinks with their number.
#pragma once

#include <array>
#include <cstddef>

#include "core/clock.h"

namespace tessera::encode {

/// How much faster the cores are than in the shortest encode so far, at the most: it may have had
/// half of them.
inline constexpr int kFasterAtMost = 2;

/// @thread one at a time
class EncodeTimes {
 public:
  /// A tile that was encoded alone.
  void record(int n_patches, Duration duration);

  /// What a tile takes at the very least; zero = nobody knows.
  Duration at_least(int n_patches) const;

 private:
  /// Of encodes of about the same size.
  struct Size {
    int n_patches_max = 0;  // of them; 0 = there were none
    Duration shortest{};
  };
  /// By log2 of the patches; the last holds all that are larger.
  static constexpr std::size_t kSizes = 20;

  std::array<Size, kSizes> sizes_{};
};

}  // namespace tessera::encode
