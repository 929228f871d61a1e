#include "runtime/llama/special_tokens.h"

#include <algorithm>

namespace tessera::runtime::llama {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

void strip_end(std::string& text) {
  text.erase(text.find_last_not_of(kSpace) + 1);
}

std::string_view strip_start(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text;
}

/// Appends to the plain run at the end, or opens one.
void add_plain(std::vector<Run>& runs, std::string_view text) {
  if (text.empty()) return;
  if (runs.empty() || runs.back().kind != Run::Kind::kPlain) {
    runs.push_back({Run::Kind::kPlain, {}, 0});
  }
  runs.back().text += text;
}

}  // namespace

SpecialTokens::SpecialTokens(const llama_vocab* vocabulary) {
  const int n = llama_vocab_n_tokens(vocabulary);
  for (llama_token token = 0; token < n; ++token) {
    const auto attributes = static_cast<unsigned>(llama_vocab_get_attr(vocabulary, token));
    if ((attributes & (LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_UNKNOWN)) == 0) continue;
    Special special{llama_vocab_get_text(vocabulary, token),
                    (attributes & LLAMA_TOKEN_ATTR_LSTRIP) != 0,
                    (attributes & LLAMA_TOKEN_ATTR_RSTRIP) != 0};
    if (!special.text.empty()) by_first_byte_[special.text.front()].push_back(std::move(special));
  }
  for (auto& [byte, specials] : by_first_byte_) {
    std::sort(specials.begin(), specials.end(),
              [](const Special& a, const Special& b) { return a.text.size() > b.text.size(); });
  }
}

const SpecialTokens::Special* SpecialTokens::match(std::string_view text) const {
  const auto found = by_first_byte_.find(text.front());
  if (found == by_first_byte_.end()) return nullptr;
  for (const Special& special : found->second) {
    if (text.starts_with(special.text)) return &special;
  }
  return nullptr;
}

std::vector<Run> SpecialTokens::split(std::span<const PromptPart> parts) const {
  std::vector<Run> runs;
  bool strip_next = false;
  const auto add_text = [&](std::string_view text) {
    if (strip_next) text = strip_start(text);
    if (text.empty()) return;
    strip_next = false;
    add_plain(runs, text);
  };

  for (const PromptPart& part : parts) {
    if (const auto* media = std::get_if<MediaPlace>(&part)) {
      runs.push_back({Run::Kind::kMedia, {}, media->image_index});
      strip_next = false;
      continue;
    }
    if (const auto* user = std::get_if<UserText>(&part)) {
      add_text(user->text);
      continue;
    }
    std::string_view rest = std::get<TemplateText>(part).text;
    std::size_t plain = 0;
    while (plain < rest.size()) {
      const Special* special = match(rest.substr(plain));
      if (special == nullptr) {
        ++plain;
        continue;
      }
      add_text(rest.substr(0, plain));
      if (special->strips_left && !runs.empty() && runs.back().kind == Run::Kind::kPlain) {
        strip_end(runs.back().text);
      }
      runs.push_back({Run::Kind::kSpecial, special->text, 0});
      strip_next = special->strips_right;
      rest.remove_prefix(plain + special->text.size());
      plain = 0;
    }
    add_text(rest);
  }
  return runs;
}

}  // namespace tessera::runtime::llama
