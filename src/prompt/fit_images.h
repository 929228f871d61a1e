// How large each image is given to the model: as large as its visual tokens allow. A smaller image
// is the cheapest way to fewer tokens, because the encoder has less to do as well, and the only one
// before a pixel is decoded.
//
//   detail high    as the model itself does it
//   detail auto    the same, but an image that fits into one tile is not enlarged to many
//   detail low     at most kLowDetailTokens, one tile where there are tiles
//
// Whatever was asked, an image shrinks until it fits its own budget, and the largest images of a
// request shrink until all fit together. Sizes keep their aspect and never grow. Only when the
// smallest size does not fit is the request refused.
// Pure functions; may be called from any thread.
#pragma once

#include <span>
#include <vector>

#include "core/prompt.h"
#include "core/request.h"
#include "core/result.h"
#include "runtime/runtime.h"

namespace tessera::prompt {

/// Of `detail: low`: a picture of 448×448 in the families that count 28×28 pixels a token; enough
/// to say what is on a photo, too little for small print. A model whose images all cost more has
/// its smallest one.
inline constexpr int kLowDetailTokens = 256;

/// What one image of the prompt may cost.
struct ImageWish {
  ImageSize source;
  ImageDetail detail = ImageDetail::kAuto;
  int n_tokens_max = 0;
  friend bool operator==(const ImageWish&, const ImageWish&) = default;
};

struct FittedImage {
  ImageInput input;
  int budget = 0;  // visual tokens that it was made smaller for; 0 = it was not
};

/// @param n_tokens_max  of all images
/// @return  one for each wish
/// @errors  too_large `visual_tokens_exceeded`, with the numbers; those of runtime::plan_image
/// @cost    at most 28 plans an image, 15 to 180 µs each
Result<std::vector<FittedImage>> fit_images(const runtime::Model& model,
                                            std::span<const ImageWish> wishes, int n_tokens_max);

}  // namespace tessera::prompt
