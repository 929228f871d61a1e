// A byte-level vocabulary that is made up: every byte, a space and up to four letters as words, and
// the special tokens that a model's template and preprocessing look up. Words are built from the
// space on, letter by letter, so text made of them is cut into the same tokens again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/llama/random_model/model_file.h"

namespace tessera::runtime::llama::random_model {

/// What every family's preprocessing puts around tiles and images, and ChatML's own tokens.
std::vector<std::string> all_special_tokens();

struct Vocabulary {
  std::vector<std::string> tokens;  // bytes in GPT-2's printable spelling
  std::vector<std::string> merges;
  std::int64_t first_word = 0;
  std::int64_t n_words = 0;  // the special tokens come behind them

  bool is_word(std::int64_t token) const {
    return token >= first_word && token < first_word + n_words;
  }
};

/// @param size  of the whole vocabulary; room for every byte and special token is the least
Vocabulary make_vocabulary(std::int64_t size, std::span<const std::string> specials);

/// Tokenizer and chat template (ChatML).
/// @param rule  how text is split before merging: a name that libllama knows
void add_vocabulary(ModelFile& file, const Vocabulary& vocabulary, std::string_view rule);

}  // namespace tessera::runtime::llama::random_model
