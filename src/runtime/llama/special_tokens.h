// Splits template text into special tokens and plain runs, so that plain text of template and user
// can be tokenized together (merges across the border stay as the model was trained) while only
// the template's own special tokens count.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/llama/handles.h"
#include "runtime/runtime.h"

namespace tessera::runtime::llama {

/// A stretch of a prompt that is tokenized in one call.
struct Run {
  enum class Kind { kPlain, kSpecial, kMedia };
  Kind kind = Kind::kPlain;
  std::string text;             // kPlain, kSpecial
  std::size_t image_index = 0;  // kMedia
};

/// @thread immutable after construction
class SpecialTokens {
 public:
  SpecialTokens() = default;
  explicit SpecialTokens(const llama_vocab* vocabulary);

  /// Joins neighbouring plain text, keeps special tokens and media apart.
  std::vector<Run> split(std::span<const PromptPart> parts) const;

 private:
  struct Special {
    std::string text;
    bool strips_left = false;   // swallows white space before it
    bool strips_right = false;  // … and after it
  };

  /// The longest special token at the start of `text`, if any.
  const Special* match(std::string_view text) const;

  std::unordered_map<char, std::vector<Special>> by_first_byte_;  // longest first
};

}  // namespace tessera::runtime::llama
