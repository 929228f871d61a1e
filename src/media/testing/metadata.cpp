#include "media/testing/metadata.h"

#include <lcms2.h>

#include <algorithm>
#include <array>

#include "core/check.h"

namespace tessera::media::testing {
namespace {

class TiffWriter {
 public:
  explicit TiffWriter(bool big_endian) : big_endian_(big_endian) {}

  void u16(unsigned value) {
    const auto high = static_cast<std::uint8_t>(value >> 8U);
    const auto low = static_cast<std::uint8_t>(value);
    bytes_.push_back(big_endian_ ? high : low);
    bytes_.push_back(big_endian_ ? low : high);
  }

  void u32(unsigned value) {
    u16(big_endian_ ? value >> 16U : value & 0xFFFFU);
    u16(big_endian_ ? value & 0xFFFFU : value >> 16U);
  }

  /// A SHORT with count 1; its value lies left in the four bytes.
  void short_entry(unsigned tag, unsigned value) {
    u16(tag);
    u16(3);
    u32(1);
    u16(value);
    u16(0);
  }

  ByteVector take() { return std::move(bytes_); }

 private:
  bool big_endian_;
  ByteVector bytes_;
};

ByteVector save(cmsHPROFILE profile) {
  TSR_CHECK(profile != nullptr);
  cmsUInt32Number n_bytes = 0;
  TSR_CHECK(cmsSaveProfileToMem(profile, nullptr, &n_bytes) != 0);
  ByteVector bytes(n_bytes);
  TSR_CHECK(cmsSaveProfileToMem(profile, bytes.data(), &n_bytes) != 0);
  cmsCloseProfile(profile);
  constexpr std::ptrdiff_t kDate = 24;  // of creation, 12 bytes: a file must be the same each time
  std::fill_n(bytes.begin() + kDate, 12, std::uint8_t{0});
  return bytes;
}

cmsToneCurve* srgb_curve() {
  std::array<cmsFloat64Number, 5> parameters{2.4, 1.0 / 1.055, 0.055 / 1.055, 1.0 / 12.92, 0.04045};
  return cmsBuildParametricToneCurve(nullptr, 4, parameters.data());
}

/// White is that of sRGB.
ByteVector rgb_profile(const cmsCIExyYTRIPLE& primaries, cmsToneCurve* curve) {
  const cmsCIExyY white{0.3127, 0.3290, 1.0};
  cmsToneCurve* curves[] = {curve, curve, curve};
  ByteVector bytes = save(cmsCreateRGBProfile(&white, &primaries, curves));
  cmsFreeToneCurve(curve);
  return bytes;
}

cmsInt32Number sample_black_only(const cmsUInt16Number in[], cmsUInt16Number out[],
                                 void* /*cargo*/) {
  out[0] = static_cast<cmsUInt16Number>(0xFFFF - in[3]);  // L*
  out[1] = 0x8080;                                        // a* = 0
  out[2] = 0x8080;                                        // b* = 0
  return 1;
}

}  // namespace

ByteVector exif_with_orientation(int orientation, bool big_endian) {
  TiffWriter tiff(big_endian);
  tiff.u16(big_endian ? 0x4D4D : 0x4949);
  tiff.u16(42);
  tiff.u32(8);
  tiff.u16(3);
  tiff.short_entry(0x0103, 6);  // Compression
  tiff.short_entry(0x0112, static_cast<unsigned>(orientation));
  tiff.short_entry(0x0213, 1);  // YCbCrPositioning
  tiff.u32(0);
  return tiff.take();
}

ByteVector with_exif_prefix(const ByteVector& tiff) {
  ByteVector bytes{'E', 'x', 'i', 'f', 0, 0};
  bytes.insert(bytes.end(), tiff.begin(), tiff.end());
  return bytes;
}

ByteVector icc_srgb() {
  return save(cmsCreate_sRGBProfile());
}

ByteVector icc_with_red_and_green_swapped() {
  return rgb_profile({{0.30, 0.60, 1.0}, {0.64, 0.33, 1.0}, {0.15, 0.06, 1.0}}, srgb_curve());
}

ByteVector icc_display_p3() {
  return rgb_profile({{0.680, 0.320, 1.0}, {0.265, 0.690, 1.0}, {0.150, 0.060, 1.0}}, srgb_curve());
}

ByteVector icc_adobe_rgb() {
  return rgb_profile({{0.64, 0.33, 1.0}, {0.21, 0.71, 1.0}, {0.15, 0.06, 1.0}},
                     cmsBuildGamma(nullptr, 2.19921875));
}

ByteVector icc_linear_rgb() {
  return rgb_profile({{0.64, 0.33, 1.0}, {0.30, 0.60, 1.0}, {0.15, 0.06, 1.0}},
                     cmsBuildGamma(nullptr, 1.0));
}

ByteVector icc_linear_gray() {
  cmsToneCurve* curve = cmsBuildGamma(nullptr, 1.0);
  ByteVector bytes = save(cmsCreateGrayProfile(cmsD50_xyY(), curve));
  cmsFreeToneCurve(curve);
  return bytes;
}

ByteVector icc_black_only_cmyk() {
  cmsHPROFILE profile = cmsCreateProfilePlaceholder(nullptr);
  cmsSetProfileVersion(profile, 4.2);
  cmsSetDeviceClass(profile, cmsSigOutputClass);
  cmsSetColorSpace(profile, cmsSigCmykData);
  cmsSetPCS(profile, cmsSigLabData);
  cmsPipeline* pipeline = cmsPipelineAlloc(nullptr, 4, 3);
  cmsStage* table = cmsStageAllocCLut16bit(nullptr, 3, 4, 3, nullptr);
  TSR_CHECK(cmsStageSampleCLut16bit(table, sample_black_only, nullptr, 0) != 0);
  // The tag's format wants curves on both sides; none given means identity.
  cmsStage* const stages[] = {cmsStageAllocToneCurves(nullptr, 4, nullptr), table,
                              cmsStageAllocToneCurves(nullptr, 3, nullptr)};
  for (cmsStage* stage : stages) {
    TSR_CHECK(cmsPipelineInsertStage(pipeline, cmsAT_END, stage) != 0);
  }
  TSR_CHECK(cmsWriteTag(profile, cmsSigAToB0Tag, pipeline) != 0);
  cmsPipelineFree(pipeline);
  return save(profile);
}

}  // namespace tessera::media::testing
