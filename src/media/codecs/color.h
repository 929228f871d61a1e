// Colour conversion of rows to 8-bit sRGB through an embedded ICC profile (lcms2), or by the naive
// formula where there is none that can be used.
// @thread one thread per object
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace tessera::media {

/// Colour channels of a row, alpha apart.
enum class ColorModel { kGray, kRgb, kCmyk };

constexpr int n_channels(ColorModel model) {
  switch (model) {
    case ColorModel::kGray:
      return 1;
    case ColorModel::kRgb:
      return 3;
    case ColorModel::kCmyk:
      return 4;
  }
  return 0;
}

class ColorConverter {
 public:
  /// @param icc  empty, broken, or for another colour model: the pixels are taken as sRGB, and CMYK
  ///             as ideal inks
  ColorConverter(ColorModel model, std::span<const std::uint8_t> icc);
  ~ColorConverter();
  ColorConverter(const ColorConverter&) = delete;
  ColorConverter& operator=(const ColorConverter&) = delete;

  /// True when a profile is applied.
  bool uses_profile() const { return transform_ != nullptr; }

  /// @param source  [n][n_channels] u8; CMYK with 255 = full ink
  /// @param rgb     [n][3] u8 sRGB
  void convert(const std::uint8_t* source, std::uint8_t* rgb, int n) const;

 private:
  struct TransformDeleter {
    void operator()(void* transform) const;
  };

  ColorModel model_;
  std::unique_ptr<void, TransformDeleter> transform_;
};

}  // namespace tessera::media
