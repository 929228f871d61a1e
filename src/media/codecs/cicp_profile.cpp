#include "media/codecs/cicp_profile.h"

#include <lcms2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

namespace tessera::media {
namespace {

// Code points.
constexpr int kPal = 5;
constexpr int kNtsc = 6;
constexpr int kSmpte240 = 7;
constexpr int kBt2020 = 9;
constexpr int kDciP3 = 11;
constexpr int kDisplayP3 = 12;
constexpr int kGamma22 = 4;
constexpr int kGamma28 = 5;
constexpr int kLinear = 8;
constexpr int kPq = 16;
constexpr int kHlg = 18;

constexpr cmsCIExyY kD65{0.3127, 0.3290, 1.0};
constexpr cmsCIExyYTRIPLE kBt709Primaries{{0.640, 0.330, 1}, {0.300, 0.600, 1}, {0.150, 0.060, 1}};

struct Gamut {
  int code;
  cmsCIExyY white;
  cmsCIExyYTRIPLE primaries;
};
constexpr std::array kGamuts{
    Gamut{kPal, kD65, {{0.640, 0.330, 1}, {0.290, 0.600, 1}, {0.150, 0.060, 1}}},
    Gamut{kNtsc, kD65, {{0.630, 0.340, 1}, {0.310, 0.595, 1}, {0.155, 0.070, 1}}},
    Gamut{kSmpte240, kD65, {{0.630, 0.340, 1}, {0.310, 0.595, 1}, {0.155, 0.070, 1}}},
    Gamut{kBt2020, kD65, {{0.708, 0.292, 1}, {0.170, 0.797, 1}, {0.131, 0.046, 1}}},
    Gamut{kDciP3, {0.314, 0.351, 1}, {{0.680, 0.320, 1}, {0.265, 0.690, 1}, {0.150, 0.060, 1}}},
    Gamut{kDisplayP3, kD65, {{0.680, 0.320, 1}, {0.265, 0.690, 1}, {0.150, 0.060, 1}}},
};

/// Light of a display for a PQ signal, 1 = reference white of 203 cd/m².
/// @source ITU-R BT.2100-2 table 4, BT.2408 §2.1
double pq_light(double signal) {
  constexpr double kM1 = 2610.0 / 16384;
  constexpr double kM2 = 2523.0 / 4096 * 128;
  constexpr double kC1 = 3424.0 / 4096;
  constexpr double kC2 = 2413.0 / 4096 * 32;
  constexpr double kC3 = 2392.0 / 4096 * 32;
  const double power = std::pow(signal, 1 / kM2);
  return std::pow(std::max(power - kC1, 0.0) / (kC2 - kC3 * power), 1 / kM1) * 10'000 / 203;
}

/// Light of a scene for an HLG signal, 1 = reference white at signal 0.75.
/// @source ITU-R BT.2100-2 table 5
double hlg_light(double signal) {
  constexpr double kA = 0.17883277;
  constexpr double kB = 0.28466892;
  constexpr double kC = 0.55991073;
  const double light =
      signal <= 0.5 ? signal * signal / 3 : (std::exp((signal - kC) / kA) + kB) / 12;
  constexpr double kReferenceWhite = 0.265;
  return light / kReferenceWhite;
}

struct CurveDeleter {
  void operator()(cmsToneCurve* curve) const { cmsFreeToneCurve(curve); }
};
using Curve = std::unique_ptr<cmsToneCurve, CurveDeleter>;

Curve tabulated(double (*light)(double)) {
  std::array<cmsUInt16Number, 4096> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double signal = static_cast<double>(i) / (table.size() - 1);
    table[i] = static_cast<cmsUInt16Number>(std::lround(std::min(light(signal), 1.0) * 65535));
  }
  return Curve(cmsBuildTabulatedToneCurve16(nullptr, table.size(), table.data()));
}

Curve srgb_curve() {
  constexpr std::array<cmsFloat64Number, 5> kParameters{2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92,
                                                        0.04045};
  return Curve(cmsBuildParametricToneCurve(nullptr, 4, kParameters.data()));
}

/// Null = sRGB's.
Curve curve_of(int transfer) {
  switch (transfer) {
    case kGamma22:
      return Curve(cmsBuildGamma(nullptr, 2.2));
    case kGamma28:
      return Curve(cmsBuildGamma(nullptr, 2.8));
    case kLinear:
      return Curve(cmsBuildGamma(nullptr, 1.0));
    case kPq:
      return tabulated(pq_light);
    case kHlg:
      return tabulated(hlg_light);
    default:
      return nullptr;
  }
}

std::vector<std::uint8_t> save(cmsHPROFILE profile) {
  std::vector<std::uint8_t> bytes;
  cmsUInt32Number n_bytes = 0;
  if (profile == nullptr) return bytes;
  if (cmsSaveProfileToMem(profile, nullptr, &n_bytes) != 0) {
    bytes.resize(n_bytes);
    if (cmsSaveProfileToMem(profile, bytes.data(), &n_bytes) == 0) bytes.clear();
  }
  cmsCloseProfile(profile);
  return bytes;
}

}  // namespace

std::vector<std::uint8_t> cicp_profile(int primaries, int transfer) {
  const auto* gamut = std::ranges::find(kGamuts, primaries, &Gamut::code);
  const bool has_gamut = gamut != kGamuts.end();
  Curve curve = curve_of(transfer);
  if (!has_gamut && curve == nullptr) return {};
  if (curve == nullptr) curve = srgb_curve();
  cmsToneCurve* curves[] = {curve.get(), curve.get(), curve.get()};
  return save(cmsCreateRGBProfile(has_gamut ? &gamut->white : &kD65,
                                  has_gamut ? &gamut->primaries : &kBt709Primaries, curves));
}

}  // namespace tessera::media
