// From the bytes of a 12 MP JPEG to pixels of a model's size, on one core, stage by stage, beside
// decoding in full and resampling with plain loops in memory (what libmtmd does after its decoder).
// Prints medians in milliseconds of core time.
//
//   decode_to_size [rounds]
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "core/limits.h"
#include "media/codecs/decoder.h"
#include "media/codecs/resample.h"
#include "media/codecs/resample_filter.h"
#include "media/testing/encode_images.h"
#include "media/validate.h"

// After <cstdio>: the header needs FILE and size_t and includes neither.
#include <jpeglib.h>

namespace {

using namespace tessera;         // NOLINT(google-build-using-namespace): a program of one file
using namespace tessera::media;  // NOLINT(google-build-using-namespace)
using testing::ByteVector;
using testing::Raster;

constexpr ImageSize kPhoto{4000, 3000};
constexpr ImageSize kTarget{1120, 840};
constexpr int kRoundsDefault = 21;

/// Smooth noise of one octave: random values on a grid, joined by smooth steps.
class Octave {
 public:
  Octave(int period, double amplitude, std::uint32_t seed)
      : period_(period), amplitude_(amplitude), n_columns_(kPhoto.width / period + 2) {
    std::mt19937 random(seed);
    const int n_rows = kPhoto.height / period + 2;
    for (int i = 0; i < n_columns_ * n_rows; ++i) {
      grid_.push_back(static_cast<double>(random()) / 4294967296.0 - 0.5);
    }
  }

  double at(int x, int y) const {
    const double fx = smooth(static_cast<double>(x % period_) / period_);
    const double fy = smooth(static_cast<double>(y % period_) / period_);
    const auto cell = static_cast<std::size_t>(y / period_ * n_columns_ + x / period_);
    const auto below = cell + static_cast<std::size_t>(n_columns_);
    const double top = std::lerp(grid_[cell], grid_[cell + 1], fx);
    const double bottom = std::lerp(grid_[below], grid_[below + 1], fx);
    return amplitude_ * std::lerp(top, bottom, fy);
  }

 private:
  static double smooth(double t) { return t * t * (3 - 2 * t); }

  int period_;
  double amplitude_;
  int n_columns_;
  std::vector<double> grid_;
};

/// Large shapes in colour, texture in all channels, and a sensor's grain.
Raster photo() {
  std::vector<Octave> shapes;
  for (std::uint32_t k = 0; k < 3; ++k) shapes.emplace_back(512, 160, k);
  std::vector<Octave> texture;
  for (int period = 256; period >= 4; period /= 2) {
    texture.emplace_back(period, 6 + period * 0.35, static_cast<std::uint32_t>(period) + 17);
  }
  std::mt19937 grain(5);
  Raster raster{kPhoto, {}};
  raster.bytes.reserve(rgb_bytes(kPhoto));
  for (int y = 0; y < kPhoto.height; ++y) {
    for (int x = 0; x < kPhoto.width; ++x) {
      double light = 128;
      for (const Octave& octave : texture) light += octave.at(x, y);
      light += static_cast<double>(grain() % 25) - 12;
      for (const Octave& shape : shapes) {
        raster.bytes.push_back(
            static_cast<std::uint8_t>(std::clamp(light + shape.at(x, y), 0.0, 255.0)));
      }
    }
  }
  return raster;
}

/// Time of a core, which a busy machine does not lengthen as it does time of the day.
double core_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double median_ms(int rounds, const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i < rounds + 1; ++i) {
    const double start = core_ms();
    work();
    if (i > 0) times.push_back(core_ms() - start);  // the first one warms up
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[static_cast<std::size_t>(rounds / 2)];
}

/// Huffman decoding alone.
void read_coefficients(const ByteVector& file) {
  jpeg_decompress_struct cinfo{};
  jpeg_error_mgr manager{};
  cinfo.err = jpeg_std_error(&manager);
  jpeg_create_decompress(&cinfo);
  jpeg_mem_src(&cinfo, file.data(), file.size());
  jpeg_read_header(&cinfo, TRUE);
  jpeg_read_coefficients(&cinfo);
  jpeg_destroy_decompress(&cinfo);
}

/// Decoding to RGB rows of numerator/8 of the size that nobody keeps.
void read_rows(const ByteVector& file, unsigned int numerator, J_DCT_METHOD method) {
  jpeg_decompress_struct cinfo{};
  jpeg_error_mgr manager{};
  cinfo.err = jpeg_std_error(&manager);
  jpeg_create_decompress(&cinfo);
  jpeg_mem_src(&cinfo, file.data(), file.size());
  jpeg_read_header(&cinfo, TRUE);
  cinfo.scale_num = numerator;
  cinfo.scale_denom = 8;
  cinfo.dct_method = method;
  jpeg_start_decompress(&cinfo);
  std::vector<std::uint8_t> row(std::size_t{cinfo.output_width} * 3);
  while (cinfo.output_scanline < cinfo.output_height) {
    JSAMPROW rows[] = {row.data()};
    jpeg_read_scanlines(&cinfo, rows, 1);
  }
  jpeg_destroy_decompress(&cinfo);
}

/// One axis of a picture in memory with plain loops.
void shrink_plain(const std::uint8_t* in, int n_lines, std::ptrdiff_t in_line,
                  const FilterTable& table, std::uint8_t* out, std::ptrdiff_t out_line,
                  std::ptrdiff_t in_step, std::ptrdiff_t out_step) {
  for (int line = 0; line < n_lines; ++line) {
    for (int output = 0; output < table.n_out(); ++output) {
      const auto span = table.span(output);
      for (std::ptrdiff_t k = 0; k < 3; ++k) {
        std::int32_t sum = 1 << (kWeightBits - 1);
        const std::uint8_t* sample = in + line * in_line + span.first * in_step + k;
        for (const std::int32_t weight : span.weights) {
          sum += weight * *sample;
          sample += in_step;
        }
        out[line * out_line + output * out_step + k] =
            static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
      }
    }
  }
}

void resize_plain(const ByteVector& rgb, ByteVector& out) {
  const FilterTable horizontal({kPhoto.width, kTarget.width, double{kPhoto.width}});
  const FilterTable vertical({kPhoto.height, kTarget.height, double{kPhoto.height}});
  ByteVector middle(static_cast<std::size_t>(kTarget.width) * kPhoto.height * 3);
  shrink_plain(rgb.data(), kPhoto.height, kPhoto.width * 3, horizontal, middle.data(),
               kTarget.width * 3, 3, 3);
  shrink_plain(middle.data(), kTarget.width, 3, vertical, out.data(), 3, kTarget.width * 3,
               kTarget.width * 3);
}

void resample_rows(const ByteVector& rgb, ImageSize size) {
  Resampler resampler({size.width, kTarget.width, static_cast<double>(size.width)},
                      {size.height, kTarget.height, static_cast<double>(size.height)},
                      Resampler::Order::kHorizontalFirst);
  for (std::ptrdiff_t y = 0; y < size.height; ++y) {
    resampler.add_row(rgb.data() + y * size.width * 3);
    while (resampler.take_row() != nullptr) {
    }
  }
}

void report(int rounds) {
  const auto limits = image_limits(Limits{});
  const ByteVector file = testing::encode_jpeg(photo(), {.quality = 88, .exif = {}, .icc = {}});
  std::printf("%d×%d JPEG of %.2f MB → %d×%d, median of %d\n", kPhoto.width, kPhoto.height,
              static_cast<double>(file.size()) / 1e6, kTarget.width, kTarget.height, rounds);
  ByteVector whole(rgb_bytes(kPhoto));
  ByteVector small(rgb_bytes(kTarget));
  const auto line = [&](const char* what, const std::function<void()>& work) {
    std::printf("%-46s %7.1f ms\n", what, median_ms(rounds, work));
    std::fflush(stdout);
  };
  line("ours: decode_image to the target", [&] { decode_image(file, limits, kTarget, small); });
  line("  probe: markers and limits", [&] { probe_image(file, limits); });
  line("  Huffman decoding, coefficients kept", [&] { read_coefficients(file); });
  line("  rows at 3/8, accurate transform", [&] { read_rows(file, 3, JDCT_ISLOW); });
  line("  rows at 4/8, accurate transform", [&] { read_rows(file, 4, JDCT_ISLOW); });
  line("  rows at 4/8, fast transform", [&] { read_rows(file, 4, JDCT_IFAST); });
  line("  rows at 8/8, accurate transform", [&] { read_rows(file, 8, JDCT_ISLOW); });
  line("  resample of 3/8", [&] { resample_rows(whole, {1500, 1125}); });
  line("  resample of 4/8", [&] { resample_rows(whole, {2000, 1500}); });
  line("  resample of 8/8", [&] { resample_rows(whole, kPhoto); });
  line("decode in full, then plain loops", [&] {
    decode_image(file, limits, kPhoto, whole);
    resize_plain(whole, small);
  });
}

}  // namespace

int main(int argc, char** argv) {
  report(argc > 1 ? std::max(1, std::atoi(argv[1])) : kRoundsDefault);
  return 0;
}
