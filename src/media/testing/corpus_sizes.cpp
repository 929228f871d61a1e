// corpus_of_sizes: what would cost memory or time if its header were believed.
#include <array>

#include "media/testing/byte_edits.h"
#include "media/testing/corpus.h"
#include "media/testing/encode_avif.h"

namespace tessera::media::testing {
namespace {

using wire::MediaError;

const ByteVector kBlackAndWhite{0, 0, 0, 255, 255, 255};

ByteVector tiny_gif(ImageSize canvas, int n_frames) {
  GifOptions options;
  options.palette_rgb = kBlackAndWhite;
  options.canvas = canvas;
  options.n_frames = n_frames;
  return encode_gif({{1, 1}, {1}}, options);
}

ByteVector gif_of(ImageSize size) {
  GifOptions options;
  options.palette_rgb = kBlackAndWhite;
  return encode_gif({size, ByteVector(static_cast<std::size_t>(size.pixels()), 1)}, options);
}

ByteVector progressive_jpeg(ImageSize size) {
  JpegOptions options;
  options.progressive = true;
  return encode_jpeg(gradient(size), options);
}

ByteVector webp_of_frames(int n) {
  return encode_webp_animation({{2, 2}, ByteVector(16, 200)}, {4, 4}, 0, 0, n);
}

/// An animated PNG: readers that do not know animation skip its chunks.
ByteVector apng_of_frames(std::uint32_t n) {
  ByteVector control(8);
  put_big_u32(control, 0, n);
  ByteVector chunks = png_chunk("acTL", control);
  for (std::uint32_t i = 0; i < n; ++i) {
    ByteVector frame(26);
    put_big_u32(frame, 0, i);
    put_big_u32(frame, 4, 8);
    put_big_u32(frame, 8, 8);
    const ByteVector chunk = png_chunk("fcTL", frame);
    chunks.insert(chunks.end(), chunk.begin(), chunk.end());
  }
  return with_png_chunk(encode_png(gradient({8, 8})), chunks);
}

void add_huge(std::vector<CorpusFile>& files) {
  const ByteVector png = encode_png(gradient({1, 1}));
  const ByteVector jpeg = encode_jpeg(gradient({16, 16}));
  const ByteVector avif = encode_avif(gradient({16, 16}));
  const auto add = [&](std::string name, ByteVector bytes, MediaError error) {
    files.push_back({std::move(name), std::move(bytes), error, {}});
  };
  add("png-50000x50000", with_png_size(png, 50'000, 50'000), MediaError::kSideTooLarge);
  add("png-10000x10000", with_png_size(png, 10'000, 10'000), MediaError::kPixelsTooMany);
  add("png-most", with_png_size(png, 0x7FFFFFFF, 0x7FFFFFFF), MediaError::kSideTooLarge);
  add("png-negative", with_png_size(png, 0x80000000, 16), MediaError::kInvalid);
  add("png-0x0", with_png_size(png, 0, 0), MediaError::kInvalid);
  add("jpeg-65500x65500", with_jpeg_size(jpeg, 65'500, 65'500), MediaError::kSideTooLarge);
  add("jpeg-9000x9000", with_jpeg_size(jpeg, 9'000, 9'000), MediaError::kPixelsTooMany);
  add("jpeg-52800x44", with_jpeg_size(jpeg, 52'800, 44), MediaError::kSideTooLarge);
  add("jpeg-height-0", with_jpeg_size(jpeg, 16, 0), MediaError::kInvalid);
  add("gif-65535x65535-100-frames", tiny_gif({65'535, 65'535}, 100), MediaError::kSideTooLarge);
  add("gif-0x0", with_gif_screen(tiny_gif({1, 1}, 1), 0, 0), MediaError::kInvalid);
  add("webp-canvas-16777216", encode_webp_animation({{2, 2}, ByteVector(16)}, {1 << 24, 128}, 0, 0),
      MediaError::kSideTooLarge);
  add("avif-65535x65535", with_avif_extent(avif, 65'535, 65'535), MediaError::kSideTooLarge);
  add("avif-most", with_avif_extent(avif, 0xFFFFFFFF, 0xFFFFFFFF), MediaError::kSideTooLarge);
  add("avif-8000x8000", with_avif_extent(avif, 8'000, 8'000), MediaError::kPixelsTooMany);
  add("avif-0x0", with_avif_extent(avif, 0, 0), MediaError::kInvalid);
  // Claims what is allowed and holds next to nothing.
  add("png-6000x6000-without-pixels", with_png_size(png, 6'000, 6'000), MediaError::kInvalid);
  add("jpeg-6000x6000-without-pixels", with_jpeg_size(jpeg, 6'000, 6'000), MediaError::kInvalid);
}

void add_repeated(std::vector<CorpusFile>& files) {
  const ByteVector progressive = progressive_jpeg({64, 64});
  files.push_back(
      {"jpeg-510-scans", with_repeated_scan(progressive, 500), MediaError::kScansTooMany, {}});
  files.push_back(
      {"jpeg-33-scans", with_repeated_scan(progressive, 23), MediaError::kScansTooMany, {}});
  files.push_back({"jpeg-32-scans", with_repeated_scan(progressive, 22), {}, {}});
  files.push_back({"gif-10000-frames", tiny_gif({4, 4}, 10'000), MediaError::kNone, {4, 4}});
  files.push_back({"webp-10000-frames", webp_of_frames(10'000), MediaError::kNone, {4, 4}});
  files.push_back({"apng-10000-frames", apng_of_frames(10'000), MediaError::kNone, {8, 8}});
  AvifOptions sequence;
  sequence.n_frames = 4;
  files.push_back(
      {"avif-sequence", encode_avif(gradient({16, 16}), sequence), MediaError::kNone, {16, 16}});
}

void add_extremes(std::vector<CorpusFile>& files) {
  struct Encoder {
    const char* name;
    ByteVector (*encode)(ImageSize);
  };
  const std::array encoders{
      Encoder{"png", [](ImageSize size) { return encode_png(gradient(size)); }},
      Encoder{"jpeg", [](ImageSize size) { return encode_jpeg(gradient(size)); }},
      Encoder{"webp", [](ImageSize size) { return encode_webp(gradient(size)); }},
      Encoder{"avif", [](ImageSize size) { return encode_avif(gradient(size)); }},
      Encoder{"gif", gif_of},
  };
  for (const Encoder& encoder : encoders) {
    const std::string name = encoder.name;
    files.push_back({name + "-1x1", encoder.encode({1, 1}), MediaError::kNone, {1, 1}});
    files.push_back(
        {name + "-1x16000", encoder.encode({1, 16'000}), MediaError::kAspectTooLarge, {}});
    files.push_back({name + "-200x1", encoder.encode({200, 1}), MediaError::kNone, {200, 1}});
  }
  files.push_back(
      {"jpeg-16384x82", encode_jpeg(gradient({16'384, 82})), MediaError::kNone, {16'384, 82}});
}

}  // namespace

std::vector<CorpusFile> corpus_of_sizes() {
  std::vector<CorpusFile> files;
  add_huge(files);
  add_repeated(files);
  add_extremes(files);
  return files;
}

}  // namespace tessera::media::testing
