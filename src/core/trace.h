// Where a request's time went. A request is in exactly one stage at a time, so the stages sum to
// the total by construction.
//
// A Trace moves with its request from thread to thread; whoever holds the request may call it.
// Stamps are monotonic and of this process.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/prompt.h"

namespace tessera {

/// In the order of a request's life. Waits are stages of their own, apart from work.
enum class Stage {
  kRead,           // headers seen → body read, media bytes in memfds, JSON parsed
  kFetchWait,      // in the queue for media that is named by URL
  kFetch,          // fetching it, or taking it from uploads or the media root
  kMediaWait,      // in the media queue
  kMediaDecode,    // worker process: probe, decode, orient, convert
  kPlan,           // chat template, tokenizing, tiles and visual tokens from sizes alone
  kResize,         // resize, tile, normalise
  kEncodeWait,     // in the encode queue
  kEncode,         // vision tower and projector (the library does not split them)
  kScheduleWait,   // admitted to the engine, but not part of the model call that runs
  kPrefillVisual,  // model calls that carry visual tokens of this request
  kPrefillText,    // model calls that carry its text tokens
  kDecode,         // model calls that carry its output tokens, and sampling
  kEmit,           // last token committed → last byte handed to the socket
};

inline constexpr std::size_t kStageCount = 14;

/// "read", "media_wait", …; stable: metric label and JSON key.
std::string_view to_string(Stage stage);

/// What a person reads in the stage table, e.g. "vision encode + projector".
std::string_view describe(Stage stage);

struct TraceCounts {
  int n_images = 0;
  int n_tiles = 0;
  int n_visual_tokens = 0;
  int n_text_tokens = 0;    // of the prompt
  int n_cached_tokens = 0;  // of the prompt, taken from the KV cache
  int n_output_tokens = 0;  // over all choices
  int n_cached_tiles = 0;   // whose features were known when the request was planned
};

class Trace {
 public:
  /// Starts in Stage::kRead.
  explicit Trace(TimePoint arrival) : arrival_(arrival), entered_(arrival) {}

  /// Closes the interval of the current stage and opens one of `stage`. Entering the stage that
  /// is current is allowed and cheap. No effect after finish().
  void enter(Stage stage, TimePoint now);

  /// The first output token exists. Later calls have no effect.
  void mark_first_token(TimePoint now);

  /// Closes the last interval. Later calls have no effect.
  void finish(TimePoint now);

  Stage stage() const { return stage_; }
  bool finished() const { return finished_; }
  TimePoint arrival() const { return arrival_; }
  Duration in(Stage stage) const { return spent_[static_cast<std::size_t>(stage)]; }
  /// Arrival → finish; arrival → last enter() while unfinished.
  Duration total() const { return entered_ - arrival_; }
  std::optional<Duration> time_to_first_token() const { return first_token_; }

  TraceCounts counts;
  std::vector<ImagePlan> images;  // of the prompt, once it is planned

 private:
  TimePoint arrival_;
  TimePoint entered_;
  Stage stage_ = Stage::kRead;
  bool finished_ = false;
  std::array<Duration, kStageCount> spent_{};
  std::optional<Duration> first_token_;
};

}  // namespace tessera
