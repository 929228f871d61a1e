#include "media/video/frame_picker.h"

#include <algorithm>

namespace tessera::media::video {

MediaError FramePicker::take(const AVFrame& picture, std::uint32_t rank) {
  while (rank > 0 && waits_up_to(rank - 1)) {
    const MediaError error = give(holds_ ? *held_ : picture);
    if (error != MediaError::kNone) return error;
  }
  if (waits_up_to(rank)) {
    const MediaError error = give(picture);
    if (error != MediaError::kNone) return error;
  }
  ::av_frame_unref(held_.get());
  holds_ = ::av_frame_ref(held_.get(), &picture) == 0;
  return holds_ ? MediaError::kNone : MediaError::kOutOfMemory;
}

MediaError FramePicker::finish_range(std::uint32_t last_rank) {
  while (waits_up_to(last_rank)) {
    if (!holds_) return MediaError::kInvalid;
    const MediaError error = give(*held_);
    if (error != MediaError::kNone) return error;
  }
  ::av_frame_unref(held_.get());
  holds_ = false;
  return MediaError::kNone;
}

std::uint32_t last_rank(std::span<const std::int32_t> ranks, PacketRange range) {
  const auto part = ranks.subspan(range.first, range.last - range.first + 1);
  return static_cast<std::uint32_t>(std::max(*std::ranges::max_element(part), 0));
}

}  // namespace tessera::media::video
