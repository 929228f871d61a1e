// Token events → the answer's JSON, in OpenAI's shapes: one `chat.completion` object, or
// `chat.completion.chunk` events for a stream.
//
// Both take the same events in the same order and know nothing of sockets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/token_event.h"
#include "core/trace.h"
#include "emit/choice_emitter.h"

namespace tessera::api {

struct AnswerHead {
  std::string id;                    // "chatcmpl-…"
  std::int64_t created_seconds = 0;  // Unix time
  std::string model;
};

struct AnswerOptions {
  int n_choices = 1;
  std::vector<std::string> stop;
  bool logprobs = false;
  bool include_usage = false;  // streams only; a whole answer always has it
  bool with_trace = false;     // a `tessera` object with the stages
  bool keeps_texts = false;    // for take_texts() of a stream
};

/// What both forms of an answer know about one choice.
/// @thread one writer
class ChoiceText {
 public:
  explicit ChoiceText(const std::vector<std::string>& stop) : emitter_(stop) {}

  /// Text to send now. Tokens whose text is held back keep their log probabilities until it goes.
  std::string add(TokenDelta token, bool keeps_logprobs);
  /// The rest of the text.
  std::string end(const ChoiceEnd& end);

  bool ended() const { return finish_.has_value(); }
  /// "stop" or "length"; nullptr before the end.
  const char* finish_reason() const;
  int n_output_tokens() const { return n_output_tokens_; }
  /// Of the text that was given out since the last call.
  std::vector<TokenDelta> take_logprobs();

 private:
  emit::ChoiceEmitter emitter_;
  std::vector<TokenDelta> held_logprobs_;
  std::vector<TokenDelta> ready_logprobs_;
  int n_output_tokens_ = 0;
  std::optional<FinishReason> finish_;
};

/// Collects a whole answer.
/// @thread one writer
class WholeAnswer {
 public:
  WholeAnswer(AnswerHead head, AnswerOptions options);

  void add(TokenDelta token);
  void add(const ChoiceEnd& end);
  /// Every choice has ended, perhaps by a stop string before the engine knew.
  bool complete() const;

  /// Nothing can be sent before the end.
  static constexpr std::size_t ready_bytes() { return 0; }
  /// Of the texts so far.
  std::size_t n_bytes() const { return n_bytes_; }

  /// What each choice said so far. Last: body() needs it, too.
  std::vector<std::string> take_texts();

  /// The `chat.completion` object.
  /// @param trace  finished, when options.with_trace
  std::string body(const Trace& trace);

 private:
  struct Choice {
    ChoiceText text;
    std::string content;
  };
  const AnswerHead head_;
  const AnswerOptions options_;
  std::vector<Choice> choices_;
  std::size_t n_bytes_ = 0;
};

/// Turns events into server-sent events. What is ready is fetched by take(), so that a slow client
/// gets several events in one write.
/// @thread one writer
class StreamedAnswer {
 public:
  StreamedAnswer(AnswerHead head, AnswerOptions options);

  void add(TokenDelta token);
  void add(const ChoiceEnd& end);
  bool complete() const;

  /// The last data events: usage and trace, in one event with no choices, when either is wanted;
  /// then [DONE].
  void finish(const Trace& trace);
  /// An error after the answer began.
  void fail(const Error& error);

  /// What each choice said so far; empty without options.keeps_texts.
  std::vector<std::string> take_texts() { return std::exchange(texts_, {}); }

  std::size_t ready_bytes() const { return ready_.size(); }
  /// Of all events so far, taken or not.
  std::size_t n_bytes() const { return n_taken_bytes_ + ready_.size(); }
  /// Bytes to send, "data: …\n\n" as often as needed; may be empty.
  std::string take();

 private:
  void send_role(std::size_t choice);
  void send_text(std::size_t choice, const std::string& text);
  void send_end(std::size_t choice);

  const AnswerHead head_;
  const AnswerOptions options_;
  std::vector<ChoiceText> choices_;
  std::vector<bool> began_;         // the event with the role was sent
  std::vector<std::string> texts_;  // of the choices; empty unless they are kept
  std::string ready_;
  std::size_t n_taken_bytes_ = 0;
};

}  // namespace tessera::api
