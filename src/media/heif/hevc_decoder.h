// The decoder of HEVC pictures that libheif asks, over libde265, in place of libheif's own. It
// knows a picture's true size before there is memory for one, and refuses what the file did not
// announce: libheif believes the boxes, and learns of a lie when everything has been decoded. And
// it computes on the calling thread.
// @thread any; a decode is one thread's
#pragma once

#include <cstdint>

#include "core/image.h"

namespace tessera::media::heif {

/// As libheif knows it.
inline constexpr const char* kHevcDecoder = "tessera-libde265";

/// Tells libheif of it, once and before anything is decoded; later calls do nothing.
void register_hevc_decoder();

/// What the pictures of one item may cost while this exists: the item itself, its tiles and its
/// alpha plane, which are each a picture to the decoder.
class PictureBudget {
 public:
  /// @param announced  the item's size by its boxes, before turning and cropping
  explicit PictureBudget(ImageSize announced);
  PictureBudget(const PictureBudget&) = delete;
  PictureBudget& operator=(const PictureBudget&) = delete;
  ~PictureBudget();

  /// The calling thread's; decoding without one is refused.
  static PictureBudget* current();

  /// Whether a picture of this coded size may be decoded; it is paid for.
  bool take(ImageSize coded);

  int n_pictures() const { return n_pictures_; }
  bool is_overdrawn() const { return is_overdrawn_; }

 private:
  ImageSize largest_;
  std::int64_t pixels_left_;
  int n_pictures_ = 0;  // that were decoded
  bool is_overdrawn_ = false;
};

}  // namespace tessera::media::heif
