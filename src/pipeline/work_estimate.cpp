#include "pipeline/work_estimate.h"

namespace tessera::pipeline {
WorkEstimate estimate_work(std::span<const ImagePlan> images, int n_prompt_tokens,
                           const WorkRates& rates) {
  double n_pixels = 0;
  double n_patches = 0;
  for (const ImagePlan& image : images) {
    const int n_missing = image.n_tiles - image.n_cached_tiles;
    if (n_missing == 0) continue;
    n_pixels += static_cast<double>(image.source.pixels());
    n_patches += static_cast<double>(image.n_patches) * n_missing / image.n_tiles;
  }
  return {rates.seconds(WorkRates::Kind::kMediaPixels, n_pixels),
          rates.seconds(WorkRates::Kind::kPatches, n_patches),
          rates.seconds(WorkRates::Kind::kPrefillRows, n_prompt_tokens)};
}

}  // namespace tessera::pipeline
