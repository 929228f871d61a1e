#include "media/codecs/frame_writer.h"

#include "media/validate.h"

namespace tessera::media {

FrameWriter::FrameWriter(ImageSize stored, Orientation orientation, ImageSize target,
                         std::span<const std::uint32_t> frames, std::span<std::uint8_t> out)
    : stored_(stored), orientation_(orientation), target_(target), frames_(frames), out_(out) {}

void FrameWriter::next(const std::uint8_t* rgba, std::span<const std::uint8_t> icc) {
  const std::uint32_t frame = n_seen_++;
  if (is_complete() || frames_[n_written_] != frame) return;
  const std::size_t n_bytes = rgb_bytes(target_);
  PixelWriter writer(stored_, orientation_, target_, out_.subspan(n_written_ * n_bytes, n_bytes));
  writer.begin({ColorModel::kRgb, true}, icc);
  const std::size_t n_row_bytes = static_cast<std::size_t>(stored_.width) * 4;
  for (int y = 0; y < stored_.height; ++y) {
    writer.write_row(rgba + static_cast<std::size_t>(y) * n_row_bytes);
  }
  ++n_written_;
}

}  // namespace tessera::media
