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

PixelWriter::PixelWriter(ImageSize stored, Orientation orientation, ImageSize target,
                         std::span<std::uint8_t> out)
    : stored_(stored),
      orientation_(orientation),
      stored_target_(oriented(target, orientation)),  // swapping sides undoes itself
      out_(out),
      delivered_(stored) {
  TSR_CHECK(target.width > 0 && target.width <= oriented(stored, orientation).width);
  TSR_CHECK(target.height > 0 && target.height <= oriented(stored, orientation).height);
  TSR_CHECK(out.size() / 3 >= static_cast<std::size_t>(target.pixels()));
}

void PixelWriter::begin(PixelLayout layout, std::span<const std::uint8_t> icc, DecodeScale scale) {
  layout_ = layout;
  color_.emplace(layout.model, icc);
  begin_resampling(scale);
  const auto width = static_cast<std::size_t>(delivered_.width);
  rgb_row_.resize(width * 3);
  if (layout.has_alpha) {
    opaque_row_.resize(width * static_cast<std::size_t>(n_channels(layout.model)));
  }
}

void PixelWriter::begin_resampling(DecodeScale scale) {
  delivered_ = {scale.length(stored_.width), scale.length(stored_.height)};
  if (delivered_ == stored_target_) return;
  // The last pixel of a scaled side may be cut: what the side covers is a fraction.
  const auto axis = [&](int stored, int delivered, int target) {
    return ResampleAxis{delivered, target, stored * scale.numerator / 8.0};
  };
  const bool rows_become_columns = orientation_ >= Orientation::kTranspose;
  resampler_.emplace(
      axis(stored_.width, delivered_.width, stored_target_.width),
      axis(stored_.height, delivered_.height, stored_target_.height),
      rows_become_columns ? Resampler::Order::kVerticalFirst : Resampler::Order::kHorizontalFirst);
}

const std::uint8_t* PixelWriter::to_rgb(const std::uint8_t* row) {
  const int width = delivered_.width;
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

void PixelWriter::place(const std::uint8_t* rgb) {
  if (n_placed_ >= stored_target_.height) return;
  const RowPath path = row_path(stored_target_, orientation_, n_placed_++);
  const std::ptrdiff_t width = stored_target_.width;
  if (path.step == 1) {
    std::memcpy(out_.data() + path.first * 3, rgb, static_cast<std::size_t>(width) * 3);
    return;
  }
  for (std::ptrdiff_t x = 0; x < width; ++x) {
    std::memcpy(out_.data() + (path.first + x * path.step) * 3, rgb + x * 3, 3);
  }
}

void PixelWriter::write_row(const std::uint8_t* row) noexcept {
  if (n_written_ >= delivered_.height || !color_) return;
  ++n_written_;
  const std::uint8_t* rgb = to_rgb(row);
  if (!resampler_) {
    place(rgb);
    return;
  }
  resampler_->add_row(rgb);
  while (const std::uint8_t* finished = resampler_->take_row()) place(finished);
}

}  // namespace tessera::media
