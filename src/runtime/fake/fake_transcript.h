// The fake's language model: what one sequence has seen so far, and the scores that follow from it.
// A value; no state but its own, so the scores cannot depend on who else was in the batch.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/prompt.h"

namespace tessera::runtime::fake {

/// Tokens below are bytes.
inline constexpr TokenId kEndToken = 256;
inline constexpr TokenId kImageBeginToken = 257;
inline constexpr TokenId kImageEndToken = 258;
inline constexpr TokenId kSystemToken = 259;
inline constexpr TokenId kUserToken = 260;
inline constexpr TokenId kAssistantToken = 261;
inline constexpr int kVocabularySize = 262;

/// One step of the hash that everything here is derived from.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t z = hash * 0x9E3779B97F4A7C15U + value + 0x632BE59BD9B4E019U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

class Transcript {
 public:
  void take_token(TokenId token, Position position);
  /// @param row  [embedding_row_width]
  void take_row(std::span<const float> row, const VisualPosition& position);

  /// Scores of the next token.
  /// @param logits  [kVocabularySize], overwritten
  void write_logits(std::span<float> logits) const;

 private:
  enum class Section { kOther, kUser, kAssistant };

  Section section_ = Section::kOther;
  std::string user_text_;          // of the last user turn
  std::size_t n_answered_ = 0;     // tokens of the answer so far
  std::uint64_t hash_ = 0;         // of everything
  std::uint64_t prompt_hash_ = 0;  // of everything before the answer
};

}  // namespace tessera::runtime::fake
