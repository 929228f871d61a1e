// A JPEG's structure without its pixels: markers up to the end of the image, frame, scans and EXIF.
//
// Scans are counted here, before libjpeg sees the file: a progressive JPEG of 300 KB with hundreds
// of scans costs half a minute of a core.
// @source ITU-T T.81 Annex B
#pragma once

#include "media/codecs/codec.h"

namespace tessera::media {

struct JpegStructure {
  MediaError error = MediaError::kNone;
  ImageSize size;
  std::int32_t n_scans = 0;
  Bytes exif;  // into the file; empty = none
};

JpegStructure read_jpeg_structure(Bytes file);

}  // namespace tessera::media
