#include "media/testing/encode_images.h"

#include <png.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/check.h"
#include "sandbox/memfd.h"

// After <cstdio>: the header needs FILE and size_t and includes neither.
#include <jpeglib.h>

// NOLINTNEXTLINE(bugprone-reserved-identifier): LeakSanitizer's name
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libx265";
}

// Its threads hand memory over by means that ThreadSanitizer does not see in a library that was
// built without it.
// NOLINTNEXTLINE(bugprone-reserved-identifier): ThreadSanitizer's name
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libx265.so\nrace:libx265.so";
}

namespace tessera::media::testing {
namespace {

void append(png_structp png, png_bytep data, std::size_t n) {
  auto* out = static_cast<ByteVector*>(png_get_io_ptr(png));
  out->insert(out->end(), data, data + n);
}

void write_palette(png_structp png, png_infop info, const PngOptions& options) {
  std::vector<png_color> colors;
  for (std::size_t i = 0; i + 2 < options.palette_rgb.size(); i += 3) {
    colors.push_back(
        {options.palette_rgb[i], options.palette_rgb[i + 1], options.palette_rgb[i + 2]});
  }
  if (!colors.empty()) png_set_PLTE(png, info, colors.data(), static_cast<int>(colors.size()));
  if (!options.palette_alpha.empty()) {
    png_set_tRNS(png, info, options.palette_alpha.data(),
                 static_cast<int>(options.palette_alpha.size()), nullptr);
  }
  if (!options.transparent_color.empty()) {
    png_color_16 color{};
    color.gray = options.transparent_color[0];
    if (options.transparent_color.size() == 3) {
      color.red = options.transparent_color[0];
      color.green = options.transparent_color[1];
      color.blue = options.transparent_color[2];
    }
    png_set_tRNS(png, info, nullptr, 0, &color);
  }
}

std::size_t row_bytes(const Raster& raster) {
  return raster.bytes.size() / static_cast<std::size_t>(raster.size.height);
}

}  // namespace

ByteVector encode_png(const Raster& raster, const PngOptions& options) {
  ByteVector out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &out, append, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(raster.size.width),
               static_cast<png_uint_32>(raster.size.height), options.bit_depth, options.color_type,
               options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  write_palette(png, info, options);
  ByteVector exif = options.exif;
  if (!exif.empty()) {
    png_set_eXIf_1(png, info, static_cast<png_uint_32>(exif.size()), exif.data());
  }
  if (!options.icc.empty()) {
    png_set_iCCP(png, info, "profile", PNG_COMPRESSION_TYPE_BASE, options.icc.data(),
                 static_cast<png_uint_32>(options.icc.size()));
  }
  png_write_info(png, info);
  std::vector<png_bytep> rows;
  for (std::size_t y = 0; y < static_cast<std::size_t>(raster.size.height); ++y) {
    rows.push_back(const_cast<png_bytep>(raster.bytes.data() + y * row_bytes(raster)));
  }
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

ByteVector encode_jpeg(const Raster& raster, const JpegOptions& options) {
  jpeg_compress_struct cinfo{};
  jpeg_error_mgr manager{};
  cinfo.err = jpeg_std_error(&manager);
  jpeg_create_compress(&cinfo);
  unsigned char* memory = nullptr;
  unsigned long n_bytes = 0;  // NOLINT(google-runtime-int): libjpeg's type
  jpeg_mem_dest(&cinfo, &memory, &n_bytes);
  cinfo.image_width = static_cast<JDIMENSION>(raster.size.width);
  cinfo.image_height = static_cast<JDIMENSION>(raster.size.height);
  cinfo.input_components = options.n_channels;
  cinfo.in_color_space = options.n_channels == 1   ? JCS_GRAYSCALE
                         : options.n_channels == 3 ? JCS_RGB
                                                   : JCS_CMYK;
  jpeg_set_defaults(&cinfo);
  if (options.ycck) jpeg_set_colorspace(&cinfo, JCS_YCCK);
  if (options.n_channels == 4) cinfo.write_Adobe_marker = options.adobe_marker ? TRUE : FALSE;
  jpeg_set_quality(&cinfo, options.quality, TRUE);
  if (options.progressive) jpeg_simple_progression(&cinfo);
  jpeg_start_compress(&cinfo, TRUE);
  if (!options.exif.empty()) {
    jpeg_write_marker(&cinfo, JPEG_APP0 + 1, options.exif.data(),
                      static_cast<unsigned int>(options.exif.size()));
  }
  if (!options.icc.empty()) {
    jpeg_write_icc_profile(&cinfo, options.icc.data(),
                           static_cast<unsigned int>(options.icc.size()));
  }
  while (cinfo.next_scanline < cinfo.image_height) {
    JSAMPROW row[] = {
        const_cast<JSAMPROW>(raster.bytes.data() + cinfo.next_scanline * row_bytes(raster))};
    jpeg_write_scanlines(&cinfo, row, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  ByteVector out(memory, memory + n_bytes);
  std::free(memory);
  return out;
}

Raster gradient(ImageSize size) {
  Raster raster{size, {}};
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      raster.bytes.push_back(static_cast<std::uint8_t>(255 * x / std::max(1, size.width - 1)));
      raster.bytes.push_back(static_cast<std::uint8_t>(255 * y / std::max(1, size.height - 1)));
      raster.bytes.push_back(128);
    }
  }
  return raster;
}

EncodedMedia to_media(std::span<const std::uint8_t> bytes) {
  auto fd = sandbox::create_memfd("test image", bytes.size());
  TSR_CHECK(fd.has_value());
  TSR_CHECK(::pwrite(fd->get(), bytes.data(), bytes.size(), 0) ==
            static_cast<ssize_t>(bytes.size()));
  return {std::move(*fd), bytes.size()};
}

void allow_leaks_of_x265() {}

}  // namespace tessera::media::testing
