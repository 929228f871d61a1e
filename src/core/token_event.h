// What the engine tells the front about a request: the border between the two, in value types.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/error.h"
#include "core/plan_report.h"
#include "core/prompt.h"
#include "core/trace.h"

namespace tessera {

enum class FinishReason { kStop, kLength };

struct TokenLogprob {
  TokenId token = 0;
  std::string piece;    // bytes; may be a part of a UTF-8 character
  float logprob = 0.F;  // natural logarithm, of the full distribution at temperature 1
};

/// One output token of one choice.
struct TokenDelta {
  int choice = 0;
  TokenId token = 0;
  std::string piece;                       // bytes; may be empty or a part of a UTF-8 character
  std::optional<float> logprob;            // when the request asked
  std::vector<TokenLogprob> top_logprobs;  // best first, when the request asked
};

/// No more tokens for this choice. Its end-of-generation token is counted but has no TokenDelta.
struct ChoiceEnd {
  int choice = 0;
  FinishReason reason = FinishReason::kStop;
  int n_output_tokens = 0;  // includes the end-of-generation token
};

/// The terminal event: exactly one for each admitted request, always the last.
struct StreamEnd {
  std::optional<Error> error;  // unset = every choice ended by itself
  Trace trace;
  std::optional<PlanReport> plan = {};  // of a request that asked for no more
};

using StreamEvent = std::variant<TokenDelta, ChoiceEnd, StreamEnd>;

/// Where a request's events go.
/// @thread push from whichever thread holds the request; never blocks
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void push(StreamEvent event) = 0;
};

}  // namespace tessera
