// corpus_of_seeds and corpus_of_damage: one sound file of each kind, then cut and changed.
#include <algorithm>
#include <random>

#include "media/testing/byte_edits.h"
#include "media/testing/corpus.h"
#include "media/testing/encode_avif.h"
#include "media/testing/metadata.h"

namespace tessera::media::testing {
namespace {

using wire::MediaError;

constexpr std::size_t kCutBytes = 1024;
constexpr int kFlippedFiles = 40;  // of each seed
constexpr ImageSize kSize{48, 40};

/// Rows that do not compress, so that there is something to cut.
Raster noise(ImageSize size, std::size_t n_channels) {
  std::mt19937 random(4);
  Raster raster{size, ByteVector(static_cast<std::size_t>(size.pixels()) * n_channels)};
  for (auto& value : raster.bytes) value = static_cast<std::uint8_t>(random());
  return raster;
}

Raster indices(ImageSize size) {
  Raster raster = noise(size, 1);
  for (auto& value : raster.bytes) value %= 4;
  return raster;
}

/// GIF has no checksum and no end of its pixels that must be there.
bool must_notice_a_cut(const std::string& name, std::size_t n, std::size_t n_whole) {
  constexpr std::size_t kTailBytes = 64;
  return !name.starts_with("gif") || n + kTailBytes < n_whole;
}

void add_cuts(const CorpusFile& seed, std::vector<CorpusFile>& files) {
  for (std::size_t n = kCutBytes; n < seed.bytes.size(); n += kCutBytes) {
    const ByteVector cut(seed.bytes.begin(), seed.bytes.begin() + static_cast<std::ptrdiff_t>(n));
    std::optional<MediaError> expected;
    if (must_notice_a_cut(seed.name, n, seed.bytes.size())) expected = MediaError::kInvalid;
    files.push_back({seed.name + "-cut-at-" + std::to_string(n), cut, expected, {}});
  }
}

void add_flips(const CorpusFile& seed, std::vector<CorpusFile>& files) {
  std::mt19937 random(20240229);
  constexpr std::size_t kHeadBytes = 160;  // where the structure is
  for (int i = 0; i < kFlippedFiles; ++i) {
    ByteVector changed = seed.bytes;
    const int n_flips = 1 + static_cast<int>(random() % 6);
    for (int k = 0; k < n_flips; ++k) {
      const std::size_t range = k % 2 == 0 ? std::min(kHeadBytes, changed.size()) : changed.size();
      changed[random() % range] = static_cast<std::uint8_t>(random());
    }
    files.push_back({seed.name + "-flipped-" + std::to_string(i), changed, {}, {}});
  }
}

}  // namespace

std::vector<CorpusFile> corpus_of_seeds() {
  std::vector<CorpusFile> files;
  const auto add = [&](const char* name, ByteVector bytes, ImageSize size = kSize) {
    files.push_back({name, std::move(bytes), MediaError::kNone, size});
  };
  const ByteVector exif = exif_with_orientation(6);
  const ByteVector icc = icc_with_red_and_green_swapped();
  const Raster rgb = noise(kSize, 3);
  const Raster rgba = noise(kSize, 4);
  const ImageSize turned{kSize.height, kSize.width};

  add("jpeg", encode_jpeg(rgb, {.exif = with_exif_prefix(exif), .icc = icc}), turned);
  add("jpeg-progressive", encode_jpeg(rgb, {.progressive = true, .exif = {}, .icc = {}}));
  add("jpeg-cmyk", encode_jpeg(rgba, {.n_channels = 4, .exif = {}, .icc = {}}));
  PngOptions png;
  png.exif = exif;
  png.icc = icc;
  add("png", encode_png(rgb, png), turned);
  png.interlaced = true;
  png.color_type = 6;
  add("png-interlaced-alpha", encode_png(rgba, png), turned);
  PngOptions palette;
  palette.color_type = 3;
  palette.bit_depth = 2;
  palette.palette_rgb = {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9};
  palette.palette_alpha = {255, 60};
  add("png-palette", encode_png({kSize, noise({12, 40}, 1).bytes}, palette));
  add("webp-lossless", encode_webp(rgb, {.exif = exif, .icc = icc}), turned);
  add("webp-lossy", encode_webp(rgb, {.lossless = false, .exif = {}, .icc = {}}));
  add("webp-alpha",
      encode_webp(rgba, {.lossless = false, .has_alpha = true, .exif = {}, .icc = {}}));
  add("webp-animation", encode_webp_animation(rgba, {64, 64}, 4, 6), {64, 64});
  GifOptions gif;
  gif.palette_rgb = ByteVector(12, 50);
  gif.transparent = 2;
  add("gif", encode_gif(indices(kSize), gif));
  gif.interlaced = true;
  gif.local_palette = true;
  add("gif-interlaced", encode_gif(indices(kSize), gif));
  add("avif", encode_avif(rgb, {.quarter_turns = 1, .exif = {}, .icc = icc}), turned);
  add("avif-10-bit-alpha",
      encode_avif(rgba,
                  {.depth = 10, .subsampled = true, .has_alpha = true, .exif = {}, .icc = {}}));
  return files;
}

std::vector<CorpusFile> corpus_of_damage() {
  std::vector<CorpusFile> files;
  for (const CorpusFile& seed : corpus_of_seeds()) {
    add_cuts(seed, files);
    add_flips(seed, files);
  }
  return files;
}

}  // namespace tessera::media::testing
