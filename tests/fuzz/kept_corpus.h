// Inputs worth keeping, as text: corpus/TARGET.txt has one a line, in hexadecimal; blanks are
// ignored, and what stands behind "#" says why it is kept.
// @thread any; no shared state
#pragma once

#include <string_view>
#include <vector>

#include "media/testing/encode_images.h"

namespace tessera::fuzz {

/// Empty when nothing was kept for the target.
std::vector<media::testing::ByteVector> kept_corpus(std::string_view target);

/// The bytes of one line, up to its "#".
media::testing::ByteVector parse_hex(std::string_view line);

}  // namespace tessera::fuzz
