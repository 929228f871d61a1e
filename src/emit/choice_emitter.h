// Bytes of one choice's tokens → the text that is sent for it. Holds back a possible start of a
// stop string and an unfinished character; cuts the text before the stop string.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/stop_matcher.h"
#include "emit/utf8_assembler.h"

namespace tessera::emit {

/// The text that all feeds and finish() give together depends on the bytes alone, not on how they
/// were split into pieces.
/// @thread one writer
class ChoiceEmitter {
 public:
  /// @param stop  stop strings; what they cut is bytes, before the text is made valid
  explicit ChoiceEmitter(const std::vector<std::string>& stop) : matcher_(stop) {}

  /// The text that is safe to send now: whole, valid characters; may be empty. Bytes that are no
  /// character become U+FFFD.
  std::string feed(std::string_view piece);

  /// The rest, after the last piece. An unfinished character becomes U+FFFD.
  std::string finish();

  /// A stop string was completed: later feeds give nothing.
  bool stopped() const { return matcher_.stopped(); }

 private:
  StopMatcher matcher_;
  std::string held_;          // a possible start of a stop string
  std::size_t n_passed_ = 0;  // bytes that left held_
  Utf8Assembler characters_;
};

}  // namespace tessera::emit
