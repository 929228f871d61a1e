// The deterministic twin of runtime/llama: a model without weights that keeps the whole contract
// of runtime.h, checks that its callers keep it too, and can be told to fail (fake_control.h).
//
// Vocabulary: 256 bytes and a few specials (fake_transcript.h). One visual token for each cell of
// 28×28 pixels. Answers are a pure function of the sequence's own tokens, rows and positions:
//   last user text contains "say:WORDS"  → WORDS (to the end of the line), end of generation
//   last user text contains "count:N"    → N tokens, end of generation
//   else                                 → a word of 3–7 letters drawn from a hash of everything;
//                                          at temperature > 0 seeds give different words
// With a JSON response format the answer is {}.
#pragma once

#include <memory>

#include "core/result.h"
#include "runtime/fake/fake_control.h"
#include "runtime/runtime.h"

namespace tessera::runtime::fake {

/// Side of the square of pixels that becomes one visual token.
inline constexpr int kCellSide = 28;

/// Longer strips are refused, as real preprocessing does.
inline constexpr int kAspectMax = 200;

struct FakeOptions {
  int context_length = 4096;
  int n_sequences_max = 16;
  int n_kv_cells = 0;  // 0 = context_length × 2
  int n_rows_max = 512;
  int embedding_row_width = 8;
  bool has_vision = true;
  bool uses_mrope = false;
  bool non_causal_images = false;
  int tile_side =
      0;  // pixels; > 0: larger images become an overview and tiles of at most this side
  bool can_share = true;       // KV cells between sequences
  bool can_mix = true;         // text and visual rows in a call
  bool takes_batches = false;  // of tiles
  bool has_overview = false;   // an image of several tiles can be shown by its overview alone
  std::shared_ptr<FakeControl> control;  // null = one of its own that nobody sees
};

/// @errors  invalid_argument (an option outside its range)
Result<LoadedModel> load(const FakeOptions& options);

}  // namespace tessera::runtime::fake
