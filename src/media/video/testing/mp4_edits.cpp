#include "media/video/testing/mp4_edits.h"

#include <algorithm>

#include "core/check.h"
#include "media/testing/byte_edits.h"

namespace tessera::media::video::testing {
namespace {

using media::testing::put_big_u32;

constexpr std::size_t kHeadBytes = 8;  // size and type

std::uint32_t read_u32(const ByteVector& file, std::size_t at) {
  return std::uint32_t{file[at]} << 24U | std::uint32_t{file[at + 1]} << 16U |
         std::uint32_t{file[at + 2]} << 8U | std::uint32_t{file[at + 3]};
}

ByteVector part(const ByteVector& file, std::size_t first, std::size_t n) {
  const auto begin = file.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(n)};
}

}  // namespace

Mp4Box find_box(const ByteVector& file, std::string_view type) {
  for (Mp4Box box; box.at + kHeadBytes <= file.size(); box.at += box.n_bytes) {
    box.n_bytes = read_u32(file, box.at);
    TSR_CHECK(box.n_bytes >= kHeadBytes);
    if (std::equal(type.begin(), type.end(),
                   file.begin() + static_cast<std::ptrdiff_t>(box.at) + 4)) {
      return box;
    }
  }
  TSR_CHECK(false);
}

std::size_t content_of(const ByteVector& file, std::string_view type) {
  const auto found = std::ranges::search(file, type).begin();
  TSR_CHECK(found != file.end());
  return static_cast<std::size_t>(found - file.begin()) + type.size();
}

ByteVector without_box(const ByteVector& file, std::string_view type) {
  const Mp4Box box = find_box(file, type);
  ByteVector rest = file;
  const auto first = rest.begin() + static_cast<std::ptrdiff_t>(box.at);
  rest.erase(first, first + static_cast<std::ptrdiff_t>(box.n_bytes));
  return rest;
}

ByteVector with_index_first(const ByteVector& file) {
  const Mp4Box index = find_box(file, "moov");
  const Mp4Box pictures = find_box(file, "mdat");
  TSR_CHECK(index.at > pictures.at);
  ByteVector moov = part(file, index.at, index.n_bytes);
  // Offsets from the file's start: version and flags, a count, and so many of them.
  const std::size_t table = content_of(moov, "stco") + 4;
  const std::uint32_t n_offsets = read_u32(moov, table);
  for (std::size_t i = 1; i <= n_offsets; ++i) {
    const std::uint32_t offset = read_u32(moov, table + 4 * i);
    put_big_u32(moov, table + 4 * i, offset + static_cast<std::uint32_t>(moov.size()));
  }
  ByteVector first = without_box(file, "moov");
  first.insert(first.begin() + static_cast<std::ptrdiff_t>(find_box(first, "mdat").at),
               moov.begin(), moov.end());
  return first;
}

ByteVector cut_within(const ByteVector& file, std::string_view type, double share) {
  const Mp4Box box = find_box(file, type);
  return part(file, 0, box.at + static_cast<std::size_t>(static_cast<double>(box.n_bytes) * share));
}

}  // namespace tessera::media::video::testing
