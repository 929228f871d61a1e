#include "core/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

std::vector<std::size_t> borders(std::string_view text) {
  std::vector<std::size_t> border(text.size(), 0);
  for (std::size_t i = 1; i < text.size(); ++i) {
    std::size_t length = border[i - 1];
    while (length > 0 && text[i] != text[length]) length = border[length - 1];
    border[i] = text[i] == text[length] ? length + 1 : 0;
  }
  return border;
}

}  // namespace

StopMatcher::StopMatcher(std::span<const std::string> stop) {
  for (const std::string& text : stop) {
    if (!text.empty()) patterns_.push_back(Pattern{text, borders(text), 0});
  }
}

void StopMatcher::advance(Pattern& pattern, char byte) {
  std::size_t& n_matched = pattern.n_matched;
  while (n_matched > 0 && pattern.text[n_matched] != byte)
    n_matched = pattern.border[n_matched - 1];
  if (pattern.text[n_matched] == byte) ++n_matched;
}

StopMatcher::Progress StopMatcher::feed(std::string_view piece) {
  if (stopped()) return progress_;
  std::size_t n_held = 0;
  for (const char byte : piece) {
    ++n_bytes_;
    std::size_t n_completed = 0;
    n_held = 0;
    for (Pattern& pattern : patterns_) {
      advance(pattern, byte);
      n_held = std::max(n_held, pattern.n_matched);
      if (pattern.n_matched == pattern.text.size()) {
        n_completed = std::max(n_completed, pattern.n_matched);
      }
    }
    if (n_completed > 0) {
      progress_.safe_end = n_bytes_ - n_completed;
      progress_.stop_begin = progress_.safe_end;
      return progress_;
    }
    progress_.safe_end = n_bytes_ - n_held;
  }
  return progress_;
}

}  // namespace tessera
