#include "media/codecs/pixel_writer.h"

#include <cstddef>
#include <cstring>

#include "core/check.h"

namespace tessera::media {
namespace {

/// c·a + 255·(255 − a), rounded.
std::uint8_t over_white(int color, int alpha) {
  return static_cast<std::uint8_t>((color * alpha + 255 * (255 - alpha) + 127) / 255);
}

}  // namespace

PixelWriter::PixelWriter(ImageSize stored, Orientation orientation, std::span<std::uint8_t> out)
    : stored_(stored), orientation_(orientation), out_(out) {
  TSR_CHECK(stored.width > 0 && stored.height > 0);
  TSR_CHECK(out.size() / 3 >= static_cast<std::size_t>(stored.pixels()));
}

void PixelWriter::begin(PixelLayout layout, std::span<const std::uint8_t> icc) {
  layout_ = layout;
  color_.emplace(layout.model, icc);
  const auto width = static_cast<std::size_t>(stored_.width);
  rgb_row_.resize(width * 3);
  if (layout.has_alpha) {
    opaque_row_.resize(width * static_cast<std::size_t>(n_channels(layout.model)));
  }
}

const std::uint8_t* PixelWriter::to_rgb(const std::uint8_t* row) {
  const int width = stored_.width;
  if (!layout_.has_alpha) {
    if (layout_.model == ColorModel::kRgb && !color_->uses_profile()) return row;
    color_->convert(row, rgb_row_.data(), width);
    return rgb_row_.data();
  }
  const int n_colors = n_channels(layout_.model);
  const int stride = n_colors + 1;
  for (int x = 0; x < width; ++x) {
    for (int k = 0; k < n_colors; ++k) {
      const auto to = static_cast<std::size_t>(x) * static_cast<std::size_t>(n_colors);
      opaque_row_[to + static_cast<std::size_t>(k)] = row[x * stride + k];
    }
  }
  color_->convert(opaque_row_.data(), rgb_row_.data(), width);
  for (int x = 0; x < width; ++x) {
    const int alpha = row[x * stride + n_colors];
    if (alpha == 255) continue;
    for (int k = 0; k < 3; ++k) {
      auto& value = rgb_row_[static_cast<std::size_t>(x) * 3 + static_cast<std::size_t>(k)];
      value = over_white(value, alpha);
    }
  }
  return rgb_row_.data();
}

void PixelWriter::write_row(int y, const std::uint8_t* row) noexcept {
  if (y < 0 || y >= stored_.height || !color_) return;
  const std::uint8_t* rgb = to_rgb(row);
  const RowPath path = row_path(stored_, orientation_, y);
  if (path.step == 1) {
    std::memcpy(out_.data() + path.first * 3, rgb, static_cast<std::size_t>(stored_.width) * 3);
    return;
  }
  for (std::ptrdiff_t x = 0; x < stored_.width; ++x) {
    std::memcpy(out_.data() + (path.first + x * path.step) * 3, rgb + x * 3, 3);
  }
}

}  // namespace tessera::media
