// Rows of the token embedding matrix, read from the model file: what the first layer gets for a
// token id. libllama takes ids or rows in a model call, not both; with these, text goes as rows
// beside the rows of an image.
//
// Not every architecture computes the same from both (some look at ids in later layers, some abort
// on rows), so there is a list of those that may be asked, and a test at start says whether it is
// so: llama_executor.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/prompt.h"
#include "core/unique_fd.h"
#include "runtime/llama/handles.h"

namespace tessera::runtime::llama {

/// @thread one
class TokenEmbeddings {
 public:
  /// Nothing where the architecture is not one of the list, or the file does not have the matrix in
  /// the shape that the model says.
  /// @param path  of the file that `model` was loaded from; of several, the first
  static std::optional<TokenEmbeddings> open(const std::string& path, const llama_model* model);

  /// As the graph does it: scaled where it scales, and zeros behind the matrix's own width.
  /// @param row  [llama_model_n_embd_inp] f32
  /// @return     false: no such token, or the file has become shorter
  bool read(TokenId token, float* row);

 private:
  TokenEmbeddings() = default;

  UniqueFd file_;
  std::int64_t begin_ = 0;   // of the matrix, bytes
  std::int64_t n_rows_ = 0;  // tokens
  std::size_t n_values_ = 0;
  std::size_t row_width_ = 0;
  ggml_type type_ = GGML_TYPE_F32;
  float scale_ = 1;
  std::vector<std::byte> encoded_;  // one row; reused
};

}  // namespace tessera::runtime::llama
