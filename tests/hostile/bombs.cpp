#include "hostile/bombs.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "media/heif/testing/encode_heic.h"
#include "media/testing/byte_edits.h"
#include "media/testing/corpus.h"
#include "media/testing/encode_avif.h"
#include "media/testing/metadata.h"
#include "media/validate.h"
#include "media/video/testing/encode_clip.h"
#include "media/video/testing/mp4_edits.h"

namespace tessera::hostile {
namespace {

using media::testing::ByteVector;
using media::testing::gradient;
using media::testing::put_big_u32;
using media::testing::Raster;
using media::testing::with_avif_extent;
using media::video::testing::encode_clip;

const ByteVector kBlackAndWhite{0, 0, 0, 255, 255, 255};

std::string reason_of(media::wire::MediaError error) {
  if (error == media::wire::MediaError::kNone) return "accepted";
  return media::refusal(error, {}, {}, {}).reason;
}

ByteVector gif_of_frames(ImageSize canvas, int n_frames) {
  media::testing::GifOptions options;
  options.palette_rgb = kBlackAndWhite;
  options.canvas = canvas;
  options.n_frames = n_frames;
  return media::testing::encode_gif({{1, 1}, {1}}, options);
}

/// The size that the track's entry claims.
ByteVector with_claimed_size(ByteVector mp4, std::uint16_t width, std::uint16_t height) {
  constexpr std::string_view kEntry = "avc1";
  const auto table =
      mp4.begin() + static_cast<std::ptrdiff_t>(media::video::testing::content_of(mp4, "stsd"));
  auto at = std::search(table, mp4.end(), kEntry.begin(), kEntry.end());
  TSR_CHECK(at != mp4.end());
  at += 28;  // its name, reserved bytes, an index, and sixteen bytes that are zero
  for (const unsigned side : {unsigned{width}, unsigned{height}}) {
    *at++ = static_cast<std::uint8_t>(side >> 8U);
    *at++ = static_cast<std::uint8_t>(side & 0xFFU);
  }
  return mp4;
}

ByteVector text(std::string_view words) {
  return {words.begin(), words.end()};
}

/// A picture of one colour.
Raster plain(ImageSize size, std::size_t n_bytes_per_pixel) {
  return {size, ByteVector(static_cast<std::size_t>(size.pixels()) * n_bytes_per_pixel, 90)};
}

}  // namespace

std::vector<Bomb> image_bombs() {
  std::vector<Bomb> bombs;
  for (auto& file : media::testing::corpus_of_sizes()) {
    if (file.expected) bombs.push_back({file.name, file.bytes, {}, reason_of(*file.expected)});
  }
  const ByteVector png = media::testing::encode_png(gradient({1, 1}));
  bombs.push_back({"png-20000x20000",
                   media::testing::with_png_size(png, 20'000, 20'000),
                   {},
                   "image_side_too_large"});
  media::testing::PngOptions profiled;
  profiled.icc = media::testing::icc_srgb();
  profiled.icc.resize(std::size_t{200} << 20U);
  put_big_u32(profiled.icc, 0, static_cast<std::uint32_t>(profiled.icc.size()));
  bombs.push_back({"png-profile-of-200-mib",
                   media::testing::encode_png(gradient({24, 16}), profiled),
                   {},
                   "accepted"});
  bombs.push_back(
      {"gif-10000-frames-wanted", gif_of_frames({4, 4}, 10'000), 16, "image_frames_too_many"});
  bombs.push_back({"gif-6000x6000-of-1000-dots", gif_of_frames({6000, 6000}, 1000), 16,
                   "request_pixels_too_large"});
  bombs.push_back(
      {"webp-10000-frames-wanted",
       media::testing::encode_webp_animation({{2, 2}, ByteVector(16, 200)}, {4, 4}, 0, 0, 10'000),
       16, "image_frames_too_many"});
  bombs.push_back({"webp-6000x6000-of-100-dots",
                   media::testing::encode_webp_animation({{2, 2}, ByteVector(16, 200)},
                                                         {6000, 6000}, 0, 0, 100),
                   16, "request_pixels_too_large"});
  bombs.push_back({"avif-says-16x16-and-is-2000x2000",
                   with_avif_extent(media::testing::encode_avif(plain({2000, 2000}, 3)), 16, 16),
                   {},
                   "image_invalid"});
  return bombs;
}

std::vector<Bomb> video_bombs() {
  using media::video::testing::ClipOptions;
  const ByteVector large = encode_clip({.size = {8192, 8192}, .n_frames = 1});
  ClipOptions long_group{.encoder = "libvpx", .container = "webm", .size = {3600, 3600}};
  long_group.n_frames = 2;
  long_group.n_repeats = 2000;
  ClipOptions many{.encoder = "libvpx", .container = "webm", .size = {16, 16}, .n_frames = 2};
  many.frames_per_second = 120;
  many.n_repeats = 36'000;
  return {
      {"h264-8192x8192", large, {}, "video_too_large"},
      {"h264-says-64x48-and-is-8192x8192", with_claimed_size(large, 64, 48), {}, "video_too_large"},
      {"h264-says-65535x65535",
       with_claimed_size(large, 65'535, 65'535),
       {},
       "video_side_too_large"},
      {"vp8-3600x3600-of-2000-frames-and-one-key",
       encode_clip(long_group),
       {},
       "video_pixels_too_many"},
      {"vp8-36002-frames", encode_clip(many), {}, "video_frames_too_many"},
      {"h264-of-11-minutes",
       encode_clip({.n_frames = 2, .timestamps_ms = {0, 660'000}}),
       {},
       "video_too_long"},
      {"matroska-100-tracks", media::video::testing::encode_sound(100), {}, "video_invalid"},
      {"playlist",
       text("#EXTM3U\n#EXT-X-VERSION:3\nhttp://127.0.0.1/a.ts\n"),
       {},
       "image_format_unsupported"},
  };
}

std::vector<Bomb> heic_bombs() {
  const ByteVector heic = media::heif::testing::encode_heic(gradient({64, 64}));
  const ByteVector large = media::heif::testing::encode_heic(plain({2000, 2000}, 3));
  return {
      {"heic-16000x16000", with_avif_extent(heic, 16'000, 16'000), {}, "image_too_large"},
      {"heic-20000x20000", with_avif_extent(heic, 20'000, 20'000), {}, "image_side_too_large"},
      {"heic-65535x65535", with_avif_extent(heic, 65'535, 65'535), {}, "image_invalid"},
      {"heic-most", with_avif_extent(heic, 0xFFFFFFFF, 0xFFFFFFFF), {}, "image_invalid"},
      {"heic-0x0", with_avif_extent(heic, 0, 0), {}, "image_invalid"},
      {"heic-says-6000x6000-and-is-64x64", with_avif_extent(heic, 6000, 6000), {}, "image_invalid"},
      {"heic-says-16x16-and-is-2000x2000", with_avif_extent(large, 16, 16), {}, "image_invalid"},
  };
}

std::vector<Bomb> costly_files() {
  constexpr ImageSize kLargest{6300, 6300};
  media::testing::PngOptions deep;
  deep.bit_depth = 16;
  deep.interlaced = true;
  media::testing::JpegOptions progressive;
  progressive.progressive = true;
  const auto jpeg = media::testing::encode_jpeg(plain(kLargest, 3), progressive);
  media::testing::GifOptions gif;
  gif.palette_rgb = kBlackAndWhite;
  return {
      {"png-6300x6300", media::testing::encode_png(plain(kLargest, 3)), {}, "accepted"},
      {"png-6300x6300-16-bit-interlaced",
       media::testing::encode_png(plain(kLargest, 6), deep),
       {},
       "accepted"},
      {"jpeg-6300x6300-32-scans", media::testing::with_repeated_scan(jpeg, 22), {}, "accepted"},
      {"webp-6300x6300", media::testing::encode_webp(plain(kLargest, 3)), {}, "accepted"},
      {"gif-6300x6300",
       media::testing::encode_gif(
           {kLargest, ByteVector(static_cast<std::size_t>(kLargest.pixels()))}, gif),
       {},
       "accepted"},
      {"avif-6300x6300", media::testing::encode_avif(plain(kLargest, 3)), {}, "accepted"},
      {"heic-3000x3000", media::heif::testing::encode_heic(plain({3000, 3000}, 3)), {}, "accepted"},
  };
}

}  // namespace tessera::hostile
