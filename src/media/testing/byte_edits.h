// Cuts and patches of files. For tests only.
// @thread any; no shared state
#pragma once

#include <cstdint>
#include <string_view>

#include "media/testing/encode_images.h"

namespace tessera::media::testing {

ByteVector to_bytes(std::string_view text);

/// The first offset of `what`; the file must hold it.
std::size_t find_bytes(const ByteVector& file, const ByteVector& what);
std::size_t find_last_bytes(const ByteVector& file, const ByteVector& what);

void put_big_u32(ByteVector& file, std::size_t at, std::uint32_t value);

ByteVector joined(const ByteVector& a, const ByteVector& b);

/// A PNG chunk with its length and checksum.
ByteVector png_chunk(std::string_view type, const ByteVector& data);

/// `chunk` behind IHDR.
ByteVector with_png_chunk(const ByteVector& png, const ByteVector& chunk);

/// Another size in IHDR, with the checksum to it.
ByteVector with_png_size(ByteVector png, std::uint32_t width, std::uint32_t height);

/// Another size in the frame header.
ByteVector with_jpeg_size(ByteVector jpeg, int width, int height);

/// The last scan of a progressive JPEG, n times more.
ByteVector with_repeated_scan(const ByteVector& jpeg, int n);

/// Another size of the logical screen.
ByteVector with_gif_screen(ByteVector gif, int width, int height);

/// Another size in the first ispe property.
ByteVector with_avif_extent(ByteVector avif, std::uint32_t width, std::uint32_t height);

}  // namespace tessera::media::testing
