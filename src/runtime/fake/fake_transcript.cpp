#include "runtime/fake/fake_transcript.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <string_view>

namespace tessera::runtime::fake {
namespace {

/// So far above the rest that sampling at temperature 1 takes it too.
constexpr float kCertain = 60.F;
constexpr float kImpossible = -60.F;

/// What stands after `key` in `text`, up to the end of the line.
std::optional<std::string_view> after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  return text.substr(0, text.find('\n'));
}

TokenId byte_token(char c) {
  return static_cast<TokenId>(static_cast<unsigned char>(c));
}

/// Token `i` of a scripted answer; unset without a script.
std::optional<TokenId> scripted(std::string_view user_text, std::size_t i) {
  if (const auto words = after(user_text, "say:")) {
    return i < words->size() ? byte_token((*words)[i]) : kEndToken;
  }
  if (const auto number = after(user_text, "count:")) {
    std::size_t n_tokens = 0;
    std::from_chars(number->data(), number->data() + number->size(), n_tokens);
    return i < n_tokens ? byte_token(static_cast<char>('a' + static_cast<int>(i % 26))) : kEndToken;
  }
  return std::nullopt;
}

}  // namespace

void Transcript::take_token(TokenId token, Position position) {
  hash_ = mix(hash_, static_cast<std::uint64_t>(token));
  hash_ = mix(hash_, static_cast<std::uint64_t>(position));
  if (token == kUserToken) {
    section_ = Section::kUser;
    user_text_.clear();
  } else if (token == kAssistantToken) {
    section_ = Section::kAssistant;
    n_answered_ = 0;
    prompt_hash_ = hash_;
  } else if (token == kSystemToken) {
    section_ = Section::kOther;
  } else if (section_ == Section::kAssistant) {
    ++n_answered_;
  } else if (section_ == Section::kUser && token < kEndToken) {
    user_text_ += static_cast<char>(token);
  }
}

void Transcript::take_row(std::span<const float> row, const VisualPosition& position) {
  for (const float value : row) hash_ = mix(hash_, std::bit_cast<std::uint32_t>(value));
  for (const Position p : position) hash_ = mix(hash_, static_cast<std::uint64_t>(p));
}

void Transcript::write_logits(std::span<float> logits) const {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = kImpossible + static_cast<float>(mix(hash_, i) % 1024) / 1024.F;
  }
  if (const auto token = scripted(user_text_, n_answered_)) {
    logits[static_cast<std::size_t>(*token)] = kCertain;
    return;
  }
  // Letters share the chance; the length comes from the prompt, so that the word ends.
  if (n_answered_ >= 3 + prompt_hash_ % 5) {
    logits[static_cast<std::size_t>(kEndToken)] = kCertain;
    return;
  }
  for (std::size_t letter = 'a'; letter <= 'z'; ++letter) {
    logits[letter] = static_cast<float>(mix(hash_, letter) % 4096) / 1024.F;
  }
}

}  // namespace tessera::runtime::fake
