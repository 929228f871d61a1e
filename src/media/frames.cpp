#include "media/frames.h"

#include <algorithm>
#include <utility>

namespace tessera::media {

std::vector<std::uint32_t> sample_frames(int n_frames, int n_wanted) {
  const std::int64_t n = std::min(n_frames, n_wanted);
  std::vector<std::uint32_t> frames{0};
  for (std::int64_t i = 1; i < n; ++i) {
    // Rounded; distinct because the distance is at least one.
    frames.push_back(static_cast<std::uint32_t>((2 * i * (n_frames - 1) + n - 1) / (2 * (n - 1))));
  }
  return frames;
}

void show_frames(std::vector<Message>& messages, std::span<const std::size_t> n_frames) {
  for (Message& message : messages) {
    std::vector<ContentPart> parts;
    for (ContentPart& part : message.parts) {
      const auto* image = std::get_if<ImagePart>(&part);
      const std::size_t n = image == nullptr ? 1 : n_frames[image->media_index];
      for (std::size_t i = 1; i < n; ++i) parts.push_back(*image);
      parts.push_back(std::move(part));
    }
    message.parts = std::move(parts);
  }
}

}  // namespace tessera::media
