#include "prompt/fit_images.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>

#include "runtime/plan_image.h"

namespace tessera::prompt {
namespace {

Error too_many(std::size_t index, int n_tokens, const std::string& limit) {
  return make_error(ErrorCode::kTooLarge, "visual_tokens_exceeded",
                    "image " + std::to_string(index + 1) + " needs " + std::to_string(n_tokens) +
                        " visual tokens at least; " + limit,
                    "messages");
}

/// The source with another longer side, and the shorter one rounded up, so that it is never a
/// longer strip than the source.
ImageSize with_longer_side(ImageSize source, int side) {
  const std::int64_t longer = std::max(source.width, source.height);
  const auto scaled = [&](int length) {
    return static_cast<int>((length * std::int64_t{side} + longer - 1) / longer);
  };
  return {scaled(source.width), scaled(source.height)};
}

bool fits_one_tile(ImageSize size, int tile_side) {
  return size.width <= tile_side && size.height <= tile_side;
}

/// Sizes of one image and what they cost.
class Fitting {
 public:
  Fitting(const runtime::Model& model, const ImageWish& wish) : model_(model), wish_(wish) {}

  /// The largest input that costs at most n_tokens_max; nothing when there is none.
  Result<std::optional<FittedImage>> fit(int n_tokens_max) {
    const bool is_low = wish_.detail == ImageDetail::kLow;
    const int n_wanted = is_low ? std::min(kLowDetailTokens, n_tokens_max) : n_tokens_max;
    const runtime::ModelInfo& info = model_.info();
    const bool is_small = fits_one_tile(wish_.source, info.vision.image_side);
    const bool one_tile =
        info.has_overview && (is_low || (wish_.detail == ImageDetail::kAuto && is_small));
    const ImageInput whole{wish_.source, one_tile};
    TSR_ASSIGN_OR_RETURN(n_tokens_, count(whole));
    if (n_tokens_ <= n_wanted) return std::optional(FittedImage{whole, 0});
    TSR_ASSIGN_OR_RETURN(const ImageInput smaller, shrink(n_wanted));
    if (n_tokens_ > n_tokens_max) return std::optional<FittedImage>();
    return std::optional(FittedImage{smaller, n_wanted});
  }

  /// Of what fit() gave, or of the smallest input when none fits.
  int n_tokens() const { return n_tokens_; }

 private:
  Result<int> count(const ImageInput& input) const {
    TSR_ASSIGN_OR_RETURN(const ImagePlan plan, runtime::plan_image(model_, input));
    return plan.n_visual_tokens;
  }

  /// The largest input of at most n_max tokens, or the one with the least.
  Result<ImageInput> shrink(int n_max) {
    // These models enlarge whatever they are given: their tiles do not get fewer with its size.
    if (model_.info().has_overview) {
      const ImageInput overview{wish_.source, true};
      TSR_ASSIGN_OR_RETURN(n_tokens_, count(overview));
      return overview;
    }
    int too_long = std::max(wish_.source.width, wish_.source.height);
    int fitting = 0;
    ImageInput least = of_side(too_long);
    for (int side = too_long / 2; side > 0 && fitting == 0; side /= 2) {
      TSR_ASSIGN_OR_RETURN(const int n_tokens, count(of_side(side)));
      (n_tokens <= n_max ? fitting : too_long) = side;
      // Not always so: models enlarge what is smaller than their least size, some to more tokens.
      if (n_tokens >= n_tokens_) continue;
      n_tokens_ = n_tokens;
      least = of_side(side);
    }
    if (fitting == 0) return least;
    while (too_long - fitting > 1) {
      const int side = std::midpoint(fitting, too_long);
      TSR_ASSIGN_OR_RETURN(const int n_tokens, count(of_side(side)));
      if (n_tokens > n_max) {
        too_long = side;
        continue;
      }
      fitting = side;
      n_tokens_ = n_tokens;
    }
    return of_side(fitting);
  }

  ImageInput of_side(int longer_side) const {
    return {with_longer_side(wish_.source, longer_side), false};
  }

  const runtime::Model& model_;
  const ImageWish& wish_;
  int n_tokens_ = 0;
};

/// The largest number that no image may exceed so that all keep within n_tokens_max.
int common_cap(std::vector<int> n_tokens, int n_tokens_max) {
  std::ranges::sort(n_tokens);
  std::int64_t left = n_tokens_max;
  for (std::size_t i = 0; i < n_tokens.size(); ++i) {
    const auto n_rest = static_cast<std::int64_t>(n_tokens.size() - i);
    if (n_tokens[i] * n_rest > left) return static_cast<int>(left / n_rest);
    left -= n_tokens[i];
  }
  return n_tokens_max;
}

}  // namespace

Result<std::vector<FittedImage>> fit_images(const runtime::Model& model,
                                            std::span<const ImageWish> wishes, int n_tokens_max) {
  std::vector<FittedImage> fitted;
  std::vector<int> n_tokens;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (i > 0 && wishes[i] == wishes[i - 1]) {  // frames of a video
      fitted.push_back(fitted.back());
      n_tokens.push_back(n_tokens.back());
      continue;
    }
    Fitting fitting(model, wishes[i]);
    const int limit = wishes[i].n_tokens_max;
    TSR_ASSIGN_OR_RETURN(const auto image, fitting.fit(limit));
    if (!image) {
      return too_many(i, fitting.n_tokens(), "the limit is " + std::to_string(limit));
    }
    fitted.push_back(*image);
    n_tokens.push_back(fitting.n_tokens());
  }
  if (std::accumulate(n_tokens.begin(), n_tokens.end(), std::int64_t{0}) <= n_tokens_max) {
    return fitted;
  }
  const int cap = common_cap(n_tokens, n_tokens_max);
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (n_tokens[i] <= cap) continue;
    Fitting fitting(model, wishes[i]);
    TSR_ASSIGN_OR_RETURN(const auto image, fitting.fit(cap));
    if (!image) {
      return too_many(i, fitting.n_tokens(),
                      "of " + std::to_string(n_tokens_max) + " for all images, " +
                          std::to_string(cap) + " are left for this one");
    }
    fitted[i] = *image;
  }
  return fitted;
}

}  // namespace tessera::prompt
