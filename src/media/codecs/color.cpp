#include "media/codecs/color.h"

#include <lcms2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace tessera::media {
namespace {

struct ProfileDeleter {
  void operator()(void* profile) const { cmsCloseProfile(profile); }
};
using Profile = std::unique_ptr<void, ProfileDeleter>;

cmsColorSpaceSignature color_space(ColorModel model) {
  switch (model) {
    case ColorModel::kGray:
      return cmsSigGrayData;
    case ColorModel::kRgb:
      return cmsSigRgbData;
    case ColorModel::kCmyk:
      return cmsSigCmykData;
  }
  return cmsSigRgbData;
}

cmsUInt32Number pixel_type(ColorModel model) {
  switch (model) {
    case ColorModel::kGray:
      return TYPE_GRAY_8;
    case ColorModel::kRgb:
      return TYPE_RGB_8;
    case ColorModel::kCmyk:
      return TYPE_CMYK_8;
  }
  return TYPE_RGB_8;
}

/// Whether the transform maps a coarse grid to itself within one step, e.g. sRGB as a table.
/// Leaving it out saves its time and its rounding.
bool is_identity(cmsHTRANSFORM transform) {
  constexpr std::array<std::uint8_t, 6> kLevels{0, 51, 102, 153, 204, 255};
  for (const auto r : kLevels) {
    for (const auto g : kLevels) {
      for (const auto b : kLevels) {
        const std::array<std::uint8_t, 3> in{r, g, b};
        std::array<std::uint8_t, 3> out{};
        cmsDoTransform(transform, in.data(), out.data(), 1);
        for (std::size_t i = 0; i < in.size(); ++i) {
          if (std::abs(in[i] - out[i]) > 1) return false;
        }
      }
    }
  }
  return true;
}

/// Whether a profile of three curves and a matrix is some spelling of sRGB. Most photos embed one,
/// and to build a transform only to find that it does nothing took 5 ms each time.
bool is_srgb(cmsHPROFILE profile, cmsHPROFILE srgb) {
  constexpr std::array kColorants{cmsSigRedColorantTag, cmsSigGreenColorantTag,
                                  cmsSigBlueColorantTag};
  constexpr std::array kCurves{cmsSigRedTRCTag, cmsSigGreenTRCTag, cmsSigBlueTRCTag};
  constexpr double kColorantTolerance = 0.001;  // a quarter of a step at white
  constexpr float kCurveTolerance = 0.0003F;    // one step at black, where the curve is steepest
  constexpr int kPoints = 32;
  if (cmsIsTag(profile, cmsSigAToB0Tag) != 0) return false;  // a table comes first
  for (std::size_t i = 0; i < kColorants.size(); ++i) {
    const auto* color = static_cast<const cmsCIEXYZ*>(cmsReadTag(profile, kColorants[i]));
    const auto* wanted = static_cast<const cmsCIEXYZ*>(cmsReadTag(srgb, kColorants[i]));
    const auto* curve = static_cast<const cmsToneCurve*>(cmsReadTag(profile, kCurves[i]));
    const auto* wanted_curve = static_cast<const cmsToneCurve*>(cmsReadTag(srgb, kCurves[i]));
    if (color == nullptr || curve == nullptr || wanted == nullptr || wanted_curve == nullptr) {
      return false;
    }
    const double off = std::max({std::abs(color->X - wanted->X), std::abs(color->Y - wanted->Y),
                                 std::abs(color->Z - wanted->Z)});
    if (!(off <= kColorantTolerance)) return false;
    for (int k = 0; k <= kPoints; ++k) {
      const float x = static_cast<float>(k) / kPoints;
      const float off_curve =
          cmsEvalToneCurveFloat(curve, x) - cmsEvalToneCurveFloat(wanted_curve, x);
      if (!(std::abs(off_curve) <= kCurveTolerance)) return false;
    }
  }
  return true;
}

void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, int n) {
  for (int i = 0; i < n; ++i, cmyk += 4, rgb += 3) {
    const int light = 255 - cmyk[3];
    for (int k = 0; k < 3; ++k) {
      rgb[k] = static_cast<std::uint8_t>(((255 - cmyk[k]) * light + 127) / 255);
    }
  }
}

void gray_to_rgb(const std::uint8_t* gray, std::uint8_t* rgb, int n) {
  for (int i = 0; i < n; ++i, rgb += 3) std::fill_n(rgb, 3, gray[i]);
}

}  // namespace

ColorConverter::ColorConverter(ColorModel model, std::span<const std::uint8_t> icc)
    : model_(model) {
  if (icc.empty()) return;
  const Profile profile(
      cmsOpenProfileFromMem(icc.data(), static_cast<cmsUInt32Number>(icc.size())));
  if (profile == nullptr || cmsGetColorSpace(profile.get()) != color_space(model)) return;
  const Profile srgb(cmsCreate_sRGBProfile());
  if (srgb == nullptr) return;
  if (model == ColorModel::kRgb && is_srgb(profile.get(), srgb.get())) return;
  // Perceptual is what profiles are made for; lcms falls back to the tables that exist.
  transform_.reset(cmsCreateTransform(profile.get(), pixel_type(model), srgb.get(), TYPE_RGB_8,
                                      INTENT_PERCEPTUAL, 0));
  if (transform_ != nullptr && model == ColorModel::kRgb && is_identity(transform_.get())) {
    transform_.reset();
  }
}

ColorConverter::~ColorConverter() = default;

void ColorConverter::TransformDeleter::operator()(void* transform) const {
  cmsDeleteTransform(transform);
}

void ColorConverter::convert(const std::uint8_t* source, std::uint8_t* rgb, int n) const {
  if (transform_ != nullptr) {
    cmsDoTransform(transform_.get(), source, rgb, static_cast<cmsUInt32Number>(n));
    return;
  }
  switch (model_) {
    case ColorModel::kGray:
      gray_to_rgb(source, rgb, n);
      return;
    case ColorModel::kRgb:
      std::memcpy(rgb, source, static_cast<std::size_t>(n) * 3);
      return;
    case ColorModel::kCmyk:
      cmyk_to_rgb(source, rgb, n);
      return;
  }
}

}  // namespace tessera::media
