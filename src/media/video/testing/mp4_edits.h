// Cuts and patches of MP4 files. The file must hold the box. For tests only.
// @thread any; no shared state
#pragma once

#include <string_view>

#include "media/testing/encode_images.h"

namespace tessera::media::video::testing {

using media::testing::ByteVector;

/// A box of the file's own level.
struct Mp4Box {
  std::size_t at = 0;
  std::size_t n_bytes = 0;
};
Mp4Box find_box(const ByteVector& file, std::string_view type);

/// What stands behind the box of that name, on any level.
std::size_t content_of(const ByteVector& file, std::string_view type);

ByteVector without_box(const ByteVector& file, std::string_view type);

/// Its index before its pictures, as it is sent to be watched while it arrives.
/// @param file  of one stream, with `moov` behind `mdat`
ByteVector with_index_first(const ByteVector& file);

/// The file up to that share of the box.
ByteVector cut_within(const ByteVector& file, std::string_view type, double share);

}  // namespace tessera::media::video::testing
