#include "media/codecs/resample.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "media/codecs/resample_kernels.h"

namespace tessera::media {
namespace {

constexpr std::size_t kPixelBytes = 3;

std::size_t row_bytes(int n_pixels) {
  return static_cast<std::size_t>(n_pixels) * kPixelBytes;
}

/// Bytes between the axes: the row's length in a picture that is shrunk in this order.
std::size_t middle_bytes(const ResampleAxis& horizontal, Resampler::Order order) {
  const bool is_short = order == Resampler::Order::kHorizontalFirst;
  return row_bytes(is_short ? horizontal.n_out : horizontal.n_in);
}

}  // namespace

HorizontalPass::HorizontalPass(const ResampleAxis& axis)
    : table_(axis),
      in_(row_bytes(axis.n_in) + kRowPadding),
      out_(row_bytes(axis.n_out) + kRowPadding) {}

const std::uint8_t* HorizontalPass::shrink(const std::uint8_t* rgb) {
  std::memcpy(in_.data(), rgb, in_.size() - kRowPadding);
  resample_kernels().shrink_row(table_, in_.data(), out_.data());
  return out_.data();
}

VerticalPass::VerticalPass(const ResampleAxis& axis, std::size_t n_samples)
    : table_(axis), n_samples_(n_samples), sums_(kOpenOutputsMax * n_samples), out_(n_samples) {}

std::int32_t* VerticalPass::sums(int output) {
  return sums_.data() + static_cast<std::size_t>(output % kOpenOutputsMax) * n_samples_;
}

void VerticalPass::add(const std::uint8_t* row) {
  while (n_opened_ < table_.n_out() && table_.span(n_opened_).first <= n_added_) {
    TSR_CHECK(n_opened_ - n_taken_ < kOpenOutputsMax);
    // Sums start at one half, so that the final shift rounds.
    std::fill_n(sums(n_opened_), n_samples_, std::int32_t{1} << (kWeightBits - 1));
    ++n_opened_;
  }
  for (int output = n_taken_; output < n_opened_; ++output) {
    const FilterTable::Span span = table_.span(output);
    const int at = n_added_ - span.first;
    if (n_added_ >= span.end()) continue;
    resample_kernels().add_weighted(row, span.weights[static_cast<std::size_t>(at)], sums(output),
                                    n_samples_);
  }
  ++n_added_;
}

const std::uint8_t* VerticalPass::take() {
  if (n_taken_ == n_opened_ || table_.span(n_taken_).end() > n_added_) return nullptr;
  resample_kernels().round_sums(sums(n_taken_), out_.data(), n_samples_);
  ++n_taken_;
  return out_.data();
}

Resampler::Resampler(const ResampleAxis& horizontal, const ResampleAxis& vertical, Order order)
    : order_(order) {
  if (!horizontal.is_identity()) horizontal_.emplace(horizontal);
  if (!vertical.is_identity()) vertical_.emplace(vertical, middle_bytes(horizontal, order));
}

void Resampler::add_row(const std::uint8_t* rgb) {
  const bool shrink_now = horizontal_ && order_ == Order::kHorizontalFirst;
  row_ = shrink_now ? horizontal_->shrink(rgb) : rgb;
  if (vertical_) vertical_->add(row_);
}

const std::uint8_t* Resampler::take_row() {
  const std::uint8_t* row = vertical_ ? vertical_->take() : std::exchange(row_, nullptr);
  const bool shrink_now = horizontal_ && order_ == Order::kVerticalFirst;
  return row != nullptr && shrink_now ? horizontal_->shrink(row) : row;
}

}  // namespace tessera::media
