#include "emit/choice_emitter.h"

namespace tessera::emit {

std::string ChoiceEmitter::feed(std::string_view piece) {
  std::string text;
  if (stopped()) return text;
  held_ += piece;
  const std::size_t n_safe = matcher_.feed(piece).safe_end - n_passed_;
  characters_.feed(std::string_view(held_).substr(0, n_safe), text);
  held_.erase(0, n_safe);
  n_passed_ += n_safe;
  if (stopped()) held_.clear();
  return text;
}

std::string ChoiceEmitter::finish() {
  std::string text;
  characters_.feed(held_, text);
  held_.clear();
  characters_.finish(text);
  return text;
}

}  // namespace tessera::emit
