// Files that somebody hostile, careless or unlucky sends, made on the spot, each with what has to
// come of it. Every line about images of our list of bombs and oddities has an entry here.
//
// Deterministic: random bytes come from fixed seeds.
// @thread any; no shared state
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "media/testing/encode_images.h"
#include "media/wire.h"

namespace tessera::media::testing {

struct CorpusFile {
  std::string name;
  ByteVector bytes;
  /// Of the default limits. None: a damaged file that may decode or not, but must not make the
  /// worker fail.
  std::optional<wire::MediaError> expected;
  ImageSize size;  // after orientation; with kNone only
};

/// Huge sides, many frames, many scans, empty and extreme sizes.
std::vector<CorpusFile> corpus_of_sizes();

/// Unusual but sound files, and metadata that lies.
std::vector<CorpusFile> corpus_of_oddities();

/// Other formats, and files that are two things at once.
std::vector<CorpusFile> corpus_of_types();

/// Truncated at every KiB, and with random bytes changed.
std::vector<CorpusFile> corpus_of_damage();

/// One sound file for each path through the codecs; the seeds of damage and of the fuzzers.
std::vector<CorpusFile> corpus_of_seeds();

}  // namespace tessera::media::testing
