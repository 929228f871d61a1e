// The value of the encode stage.
#pragma once

#include <vector>

namespace tessera {

/// Visual tokens of one tile, after the projector. Immutable once shared.
struct Embedding {
  int n_tokens = 0;
  int row_width = 0;  // floats a row: the language model's input width (with deepstack levels)
  std::vector<float> rows;  // [n_tokens][row_width] f32
};

/// One tile, resized and normalised, ready for the encoder. What is inside belongs to the runtime
/// that made it.
class PreparedTile {
 public:
  virtual ~PreparedTile() = default;
  virtual int n_tokens() const = 0;
};

}  // namespace tessera
