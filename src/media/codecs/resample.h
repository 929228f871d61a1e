// Shrinks a picture whose rows arrive one by one, so that no full-size picture need exist: 8-bit
// RGB in and out, each axis by resample_filter.h, rounded to 8 bits between the axes. With the
// horizontal axis first every byte equals Pillow's BICUBIC.
//
// Along the rows: one row in, one row out. Down the columns: each arriving row is added, weighted,
// to the sums of the output rows that it is part of, of which kOpenOutputsMax are open at once.
// That takes the same memory at any ratio, where a ring of input rows would grow to the whole
// picture for a target one pixel high.
//
// Memory: two weight tables (≤ 0.5 MB each) and, with w = the width between the axes,
// kOpenOutputsMax · 12 · w bytes of sums: 1.2 MB for the longest side.
// @thread one thread per object
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/image.h"
#include "media/codecs/resample_filter.h"

namespace tessera::media {

/// Shortens single rows.
class HorizontalPass {
 public:
  explicit HorizontalPass(const ResampleAxis& axis);

  /// @param rgb  [n_in][3] u8
  /// @return     [n_out][3] u8, until the next call
  const std::uint8_t* shrink(const std::uint8_t* rgb);

 private:
  FilterTable table_;
  std::vector<std::uint8_t> in_;  // both with kRowPadding
  std::vector<std::uint8_t> out_;
};

/// Merges rows.
class VerticalPass {
 public:
  /// @param n_samples  bytes of a row
  VerticalPass(const ResampleAxis& axis, std::size_t n_samples);

  /// Rows in order. All finished rows were taken before.
  /// @param row  [n_samples] u8
  void add(const std::uint8_t* row);

  /// The next row whose last input has been added, until the next call; null when none is complete.
  const std::uint8_t* take();

 private:
  std::int32_t* sums(int output);

  FilterTable table_;
  std::size_t n_samples_;
  std::vector<std::int32_t> sums_;  // [kOpenOutputsMax][n_samples]
  std::vector<std::uint8_t> out_;
  int n_added_ = 0;
  int n_opened_ = 0;
  int n_taken_ = 0;
};

class Resampler {
 public:
  /// Which axis is rounded first. A picture whose rows will become columns wants the vertical one:
  /// then turning and resampling give the same bytes in either order.
  enum class Order { kHorizontalFirst, kVerticalFirst };

  Resampler(const ResampleAxis& horizontal, const ResampleAxis& vertical, Order order);

  /// Row after row; take all finished rows in between.
  /// @param rgb  [horizontal.n_in][3] u8; stays until the rows are taken
  void add_row(const std::uint8_t* rgb);

  /// @return [horizontal.n_out][3] u8 until the next call, or null when more rows are needed
  const std::uint8_t* take_row();

 private:
  Order order_;
  std::optional<HorizontalPass> horizontal_;  // absent: nothing to do along the axis
  std::optional<VerticalPass> vertical_;
  const std::uint8_t* row_ = nullptr;  // without a vertical pass: added and not yet taken
};

}  // namespace tessera::media
