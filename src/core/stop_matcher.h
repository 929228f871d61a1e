// Finds the first of several stop strings in a stream of bytes that arrives in pieces. A stop
// string may span pieces, and where it is found does not depend on how the bytes were split.
//
// Used twice with the same answer: the engine ends the choice at the token that completes a stop
// string, the emit stage cuts the text before it. A value; one owner.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

class StopMatcher {
 public:
  /// Offsets count bytes from the start of the stream.
  struct Progress {
    /// Bytes before this offset are in no stop string, whatever follows. Never decreases. What is
    /// held back behind it is shorter than the longest stop string.
    std::size_t safe_end = 0;
    /// Where the stop string that was completed starts; equals safe_end then.
    std::optional<std::size_t> stop_begin;
  };

  /// Empty stop strings match nothing.
  explicit StopMatcher(std::span<const std::string> stop);

  /// Takes the next bytes of the stream. The stop string that is completed first wins; of several
  /// that end at the same byte, the longest. Bytes after a completed one are not looked at.
  Progress feed(std::string_view piece);

  bool stopped() const { return progress_.stop_begin.has_value(); }

 private:
  /// Knuth–Morris–Pratt: `n_matched` is the length of the longest prefix of `text` that the stream
  /// ends with.
  struct Pattern {
    std::string text;
    std::vector<std::size_t> border;  // [text.size()] longest proper border of text[0..i]
    std::size_t n_matched = 0;
  };

  static void advance(Pattern& pattern, char byte);

  std::vector<Pattern> patterns_;
  std::size_t n_bytes_ = 0;
  Progress progress_;
};

}  // namespace tessera
