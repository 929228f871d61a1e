#include "media/testing/byte_edits.h"

#include <zlib.h>

#include <algorithm>

#include "core/check.h"

namespace tessera::media::testing {
namespace {

constexpr std::size_t kPngHeader = 8;                   // IHDR's length stands behind the signature
constexpr std::size_t kPngHeaderEnd = kPngHeader + 25;  // length, type, 13 bytes, checksum

ByteVector big_u32(std::uint32_t value) {
  return {static_cast<std::uint8_t>(value >> 24U), static_cast<std::uint8_t>(value >> 16U),
          static_cast<std::uint8_t>(value >> 8U), static_cast<std::uint8_t>(value)};
}

std::uint32_t checksum(const std::uint8_t* bytes, std::size_t n) {
  return static_cast<std::uint32_t>(::crc32(0, bytes, static_cast<unsigned int>(n)));
}

ByteVector::iterator at(ByteVector& file, std::size_t offset) {
  return file.begin() + static_cast<std::ptrdiff_t>(offset);
}

}  // namespace

ByteVector to_bytes(std::string_view text) {
  return {text.begin(), text.end()};
}

std::size_t find_bytes(const ByteVector& file, const ByteVector& what) {
  const auto found = std::ranges::search(file, what).begin();
  TSR_CHECK(found != file.end());
  return static_cast<std::size_t>(found - file.begin());
}

std::size_t find_last_bytes(const ByteVector& file, const ByteVector& what) {
  const auto found = std::ranges::find_end(file, what).begin();
  TSR_CHECK(found != file.end());
  return static_cast<std::size_t>(found - file.begin());
}

void put_big_u32(ByteVector& file, std::size_t offset, std::uint32_t value) {
  std::ranges::copy(big_u32(value), at(file, offset));
}

ByteVector joined(const ByteVector& a, const ByteVector& b) {
  ByteVector result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

ByteVector png_chunk(std::string_view type, const ByteVector& data) {
  const ByteVector body = joined(to_bytes(type), data);
  const ByteVector sized = joined(big_u32(static_cast<std::uint32_t>(data.size())), body);
  return joined(sized, big_u32(checksum(body.data(), body.size())));
}

ByteVector with_png_chunk(const ByteVector& png, const ByteVector& chunk) {
  ByteVector result = png;
  result.insert(at(result, kPngHeaderEnd), chunk.begin(), chunk.end());
  return result;
}

ByteVector with_png_size(ByteVector png, std::uint32_t width, std::uint32_t height) {
  put_big_u32(png, kPngHeader + 8, width);
  put_big_u32(png, kPngHeader + 12, height);
  put_big_u32(png, kPngHeader + 21, checksum(png.data() + kPngHeader + 4, 17));
  return png;
}

ByteVector with_jpeg_size(ByteVector jpeg, int width, int height) {
  const std::size_t frame = find_bytes(jpeg, {0xFF, 0xC0});
  put_big_u32(jpeg, frame + 5,
              static_cast<std::uint32_t>(height) << 16U | static_cast<std::uint32_t>(width));
  return jpeg;
}

ByteVector with_repeated_scan(const ByteVector& jpeg, int n) {
  const std::size_t last = find_last_bytes(jpeg, {0xFF, 0xDA});
  const std::ptrdiff_t end = static_cast<std::ptrdiff_t>(jpeg.size()) - 2;  // before EOI
  const ByteVector scan(jpeg.begin() + static_cast<std::ptrdiff_t>(last), jpeg.begin() + end);
  ByteVector result(jpeg.begin(), jpeg.begin() + end);
  for (int i = 0; i < n; ++i) result.insert(result.end(), scan.begin(), scan.end());
  result.insert(result.end(), {0xFF, 0xD9});
  return result;
}

ByteVector with_gif_screen(ByteVector gif, int width, int height) {
  gif[6] = static_cast<std::uint8_t>(width);
  gif[7] = static_cast<std::uint8_t>(width >> 8);
  gif[8] = static_cast<std::uint8_t>(height);
  gif[9] = static_cast<std::uint8_t>(height >> 8);
  return gif;
}

ByteVector with_avif_extent(ByteVector avif, std::uint32_t width, std::uint32_t height) {
  const std::size_t extent = find_bytes(avif, to_bytes("ispe"));
  put_big_u32(avif, extent + 8, width);
  put_big_u32(avif, extent + 12, height);
  return avif;
}

}  // namespace tessera::media::testing
