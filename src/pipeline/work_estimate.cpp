#include "pipeline/work_estimate.h"

#include <cstdio>
#include <string>

namespace tessera::pipeline {
namespace {

std::string seconds_text(double seconds) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

}  // namespace

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

Result<void> check_deadline(const WorkEstimate& estimate, Duration left) {
  const double seconds = estimate.media_decode.value_or(0) + estimate.encode.value_or(0);
  const double seconds_left = to_seconds(left);
  if (seconds <= kEstimateDoubt * seconds_left) return {};
  return make_error(ErrorCode::kDeadlineExceeded, "deadline_unreachable",
                    "its images take about " + seconds_text(seconds) + " to encode here, and " +
                        seconds_text(seconds_left) + " are left until its deadline");
}

}  // namespace tessera::pipeline
