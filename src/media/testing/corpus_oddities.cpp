// corpus_of_oddities: sound files of unusual kinds, and metadata that lies about sound pixels.
#include <algorithm>

#include "media/testing/byte_edits.h"
#include "media/testing/corpus.h"
#include "media/testing/encode_avif.h"
#include "media/testing/metadata.h"

namespace tessera::media::testing {
namespace {

using wire::MediaError;

constexpr ImageSize kSize{24, 16};

CorpusFile sound(std::string name, ByteVector bytes, ImageSize size = kSize) {
  return {std::move(name), std::move(bytes), MediaError::kNone, size};
}

Raster samples(ImageSize size, int n_bits_a_pixel) {
  const auto n_row_bytes =
      (static_cast<std::size_t>(size.width) * static_cast<std::size_t>(n_bits_a_pixel) + 7) / 8;
  Raster raster{size, ByteVector(n_row_bytes * static_cast<std::size_t>(size.height))};
  std::uint8_t value = 0;
  for (auto& byte : raster.bytes) byte = value = static_cast<std::uint8_t>(value * 5 + 17);
  return raster;
}

void add_png_kinds(std::vector<CorpusFile>& files) {
  struct Kind {
    int color_type;
    int bit_depth;
    int n_channels;
  };
  constexpr Kind kKinds[] = {{0, 1, 1}, {0, 2, 1},  {0, 4, 1},  {0, 8, 1}, {0, 16, 1},
                             {2, 8, 3}, {2, 16, 3}, {3, 1, 1},  {3, 2, 1}, {3, 4, 1},
                             {3, 8, 1}, {4, 8, 2},  {4, 16, 2}, {6, 8, 4}, {6, 16, 4}};
  for (const Kind& kind : kKinds) {
    for (const bool interlaced : {false, true}) {
      PngOptions options;
      options.color_type = kind.color_type;
      options.bit_depth = kind.bit_depth;
      options.interlaced = interlaced;
      if (kind.color_type == 3) {
        options.palette_rgb.resize((std::size_t{1} << static_cast<unsigned>(kind.bit_depth)) * 3,
                                   99);
        options.palette_alpha = {0, 128};
      }
      files.push_back(sound("png-type-" + std::to_string(kind.color_type) + "-" +
                                std::to_string(kind.bit_depth) + (interlaced ? "-adam7" : ""),
                            encode_png(samples(kSize, kind.n_channels * kind.bit_depth), options)));
    }
  }
}

void add_cmyk_kinds(std::vector<CorpusFile>& files) {
  const Raster cmyk = samples(kSize, 32);
  for (const bool adobe : {false, true}) {
    for (const bool ycck : {false, true}) {
      // Without the marker nobody can know that the file is YCCK: it is shown as CMYK.
      JpegOptions options;
      options.n_channels = 4;
      options.adobe_marker = adobe;
      options.ycck = ycck;
      files.push_back(
          sound(std::string("jpeg-") + (ycck ? "ycck" : "cmyk") + (adobe ? "-adobe" : "-bare"),
                encode_jpeg(cmyk, options)));
    }
  }
}

/// An IFD whose "next" points to itself, and whose EXIF pointer points to itself too.
ByteVector cyclic_exif() {
  ByteVector exif = exif_with_orientation(1);
  // The last four bytes are the offset of the next IFD; this one stands at 8.
  exif[exif.size() - 4] = 8;
  exif.insert(exif.end(), {0, 0});
  exif[8 + 2] = 0x69;  // the first entry: EXIF pointer, a LONG with the value 8
  exif[8 + 3] = 0x87;
  exif[8 + 4] = 4;
  exif[8 + 10] = 8;
  return exif;
}

ByteVector contradictory_exif() {
  ByteVector exif = exif_with_orientation(6);
  const ByteVector other = exif_with_orientation(3);
  return joined(exif, other);  // a second structure behind the first: never read
}

ByteVector png_with_exif(const ByteVector& exif) {
  PngOptions options;
  options.exif = exif;
  return encode_png(gradient(kSize), options);
}

void add_exif(std::vector<CorpusFile>& files) {
  const ImageSize turned{kSize.height, kSize.width};
  files.push_back(sound("exif-cyclic", png_with_exif(cyclic_exif())));
  files.push_back(sound("exif-contradictory", png_with_exif(contradictory_exif()), turned));
  files.push_back(sound("exif-orientation-0", png_with_exif(exif_with_orientation(0))));
  files.push_back(sound("exif-orientation-9", png_with_exif(exif_with_orientation(9))));
  ByteVector far = exif_with_orientation(6);
  std::fill_n(far.begin() + 4, 4, std::uint8_t{0xFF});
  files.push_back(sound("exif-directory-outside", png_with_exif(far)));
  ByteVector many = exif_with_orientation(6);
  std::fill_n(many.begin() + 8, 2, std::uint8_t{0xFF});
  files.push_back(sound("exif-65535-entries", png_with_exif(many), turned));
}

ByteVector jpeg_with_icc(const ByteVector& icc) {
  JpegOptions options;
  options.icc = icc;
  return encode_jpeg(gradient(kSize), options);
}

ByteVector png_with_icc_of(std::size_t n_bytes) {
  PngOptions options;
  options.icc = icc_srgb();
  options.icc.resize(n_bytes);
  put_big_u32(options.icc, 0, static_cast<std::uint32_t>(n_bytes));
  return encode_png(gradient(kSize), options);
}

void add_icc(std::vector<CorpusFile>& files) {
  ByteVector broken = icc_srgb();
  std::fill(broken.begin() + 128, broken.end(), std::uint8_t{0xFF});
  ByteVector huge = icc_srgb();
  huge.resize(std::size_t{5} << 20U);
  files.push_back(sound("icc-broken", jpeg_with_icc(broken)));
  files.push_back(sound("icc-huge", jpeg_with_icc(huge)));
  files.push_back(sound("icc-of-cmyk-in-rgb", jpeg_with_icc(icc_black_only_cmyk())));
  files.push_back(sound("icc-of-gray-in-rgb", jpeg_with_icc(icc_linear_gray())));
  // Zeros: a few KiB in the file.
  files.push_back(sound("png-inflating-profile", png_with_icc_of(std::size_t{64} << 20U)));
  AvifOptions avif;
  avif.icc = broken;
  files.push_back(sound("avif-icc-broken", encode_avif(gradient(kSize), avif)));
}

void add_avif_kinds(std::vector<CorpusFile>& files) {
  AvifOptions turned;
  turned.quarter_turns = 1;
  turned.mirror = 0;
  files.push_back(sound("avif-turned", encode_avif(gradient(kSize), turned), {16, 24}));
  AvifOptions deep;
  deep.depth = 12;
  deep.subsampled = true;
  files.push_back(sound("avif-12-bit", encode_avif(gradient(kSize), deep)));
  AvifOptions cropped;
  cropped.cropped = true;
  files.push_back(
      {"avif-cropped", encode_avif(gradient(kSize), cropped), MediaError::kUnsupportedVariant, {}});
}

}  // namespace

std::vector<CorpusFile> corpus_of_oddities() {
  std::vector<CorpusFile> files;
  add_png_kinds(files);
  add_cmyk_kinds(files);
  add_exif(files);
  add_icc(files);
  add_avif_kinds(files);
  return files;
}

}  // namespace tessera::media::testing
