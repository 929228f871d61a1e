#include "api/chat_answer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/error_response.h"
#include "api/json_writer.h"
#include "api/visual_plan.h"
#include "core/check.h"

namespace tessera::api {
namespace {

// What OpenAI sends for a token that cannot come; an actual log probability is never so low.
constexpr float kImpossibleLogprob = -9999.0F;

void write_head(JsonWriter& json, const AnswerHead& head, std::string_view object) {
  json.key("id").text(head.id);
  json.key("object").text(object);
  json.key("created").number(head.created_seconds);
  json.key("model").text(head.model);
}

/// "token", "logprob" and "bytes" of an object that the caller opened.
void write_token(JsonWriter& json, std::string_view piece, float logprob) {
  json.key("token").text(piece);
  json.key("logprob").real(std::max(logprob, kImpossibleLogprob));
  json.key("bytes").begin_array();
  for (const char c : piece) json.number(static_cast<unsigned char>(c));
  json.end_array();
}

void write_logprobs(JsonWriter& json, const std::vector<TokenDelta>& tokens) {
  json.begin_object().key("content").begin_array();
  for (const TokenDelta& token : tokens) {
    json.begin_object();
    write_token(json, token.piece, token.logprob.value_or(kImpossibleLogprob));
    json.key("top_logprobs").begin_array();
    for (const TokenLogprob& top : token.top_logprobs) {
      json.begin_object();
      write_token(json, top.piece, top.logprob);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().key("refusal").null().end_object();
}

void write_usage(JsonWriter& json, const TraceCounts& counts, int n_output_tokens) {
  const int n_prompt_tokens = counts.n_visual_tokens + counts.n_text_tokens;
  json.begin_object();
  json.key("prompt_tokens").number(n_prompt_tokens);
  json.key("completion_tokens").number(n_output_tokens);
  json.key("total_tokens").number(n_prompt_tokens + n_output_tokens);
  json.key("prompt_tokens_details").begin_object();
  json.key("cached_tokens").number(counts.n_cached_tokens);
  json.key("text_tokens").number(counts.n_text_tokens);
  json.key("image_tokens").number(counts.n_visual_tokens);
  json.end_object().end_object();
}

void write_trace(JsonWriter& json, const Trace& trace) {
  json.begin_object().key("stages_seconds").begin_object();
  for (std::size_t i = 0; i < kStageCount; ++i) {
    const auto stage = static_cast<Stage>(i);
    json.key(to_string(stage)).seconds(to_seconds(trace.in(stage)));
  }
  json.end_object();
  json.key("total_seconds").seconds(to_seconds(trace.total()));
  json.key("ttft_seconds");
  if (const auto first = trace.time_to_first_token()) {
    json.seconds(to_seconds(*first));
  } else {
    json.null();
  }
  json.key("n_images").number(trace.counts.n_images);
  json.key("n_tiles").number(trace.counts.n_tiles);
  json.key("n_cached_tiles").number(trace.counts.n_cached_tiles);
  json.key("n_visual_tokens").number(trace.counts.n_visual_tokens);
  json.key("n_text_tokens").number(trace.counts.n_text_tokens);
  json.key("n_cached_tokens").number(trace.counts.n_cached_tokens);
  json.key("n_output_tokens").number(trace.counts.n_output_tokens);
  json.key("images");
  write_images(json, trace.images);
  json.key("note").text("encode holds the projector: the library runs both in one call");
  json.end_object();
}

/// The index of an event's choice, if it is one of ours.
std::optional<std::size_t> choice_index(int choice, std::size_t n_choices) {
  if (choice >= 0 && static_cast<std::size_t>(choice) < n_choices) {
    return static_cast<std::size_t>(choice);
  }
  TSR_BUG("an event for a choice that was not asked for");
  return std::nullopt;
}

int count_output_tokens(const std::vector<ChoiceText>& choices) {
  int n = 0;
  for (const ChoiceText& choice : choices) n += choice.n_output_tokens();
  return n;
}

}  // namespace

std::string ChoiceText::add(TokenDelta token, bool keeps_logprobs) {
  if (ended()) return {};  // tokens that the engine made before it saw the stop string
  ++n_output_tokens_;
  std::string text = emitter_.feed(token.piece);
  if (keeps_logprobs) held_logprobs_.push_back(std::move(token));
  if (!text.empty()) {
    std::move(held_logprobs_.begin(), held_logprobs_.end(), std::back_inserter(ready_logprobs_));
    held_logprobs_.clear();
  }
  if (emitter_.stopped()) {
    // What is still held belongs to the stop string, which is no part of the answer.
    held_logprobs_.clear();
    finish_ = FinishReason::kStop;
  }
  return text;
}

std::string ChoiceText::end(const ChoiceEnd& end) {
  if (ended()) return {};
  finish_ = end.reason;
  n_output_tokens_ = end.n_output_tokens;
  std::string text = emitter_.finish();
  std::move(held_logprobs_.begin(), held_logprobs_.end(), std::back_inserter(ready_logprobs_));
  held_logprobs_.clear();
  return text;
}

const char* ChoiceText::finish_reason() const {
  if (!finish_) return nullptr;
  switch (*finish_) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
  }
  return nullptr;
}

std::vector<TokenDelta> ChoiceText::take_logprobs() {
  return std::exchange(ready_logprobs_, {});
}

// --- a whole answer -----------------------------------------------------------------------------

WholeAnswer::WholeAnswer(AnswerHead head, AnswerOptions options)
    : head_(std::move(head)), options_(std::move(options)) {
  for (int i = 0; i < options_.n_choices; ++i) {
    choices_.push_back({ChoiceText(options_.stop), {}});
  }
}

void WholeAnswer::add(TokenDelta token) {
  const auto index = choice_index(token.choice, choices_.size());
  if (!index) return;
  Choice& choice = choices_[*index];
  // A log probability is some 100 bytes of JSON, with its alternatives.
  constexpr std::size_t kLogprobBytes = 100;
  if (options_.logprobs) n_bytes_ += kLogprobBytes * (1 + token.top_logprobs.size());
  n_bytes_ += token.piece.size();
  choice.content += choice.text.add(std::move(token), options_.logprobs);
}

void WholeAnswer::add(const ChoiceEnd& end) {
  const auto index = choice_index(end.choice, choices_.size());
  if (!index) return;
  choices_[*index].content += choices_[*index].text.end(end);
}

bool WholeAnswer::complete() const {
  return std::all_of(choices_.begin(), choices_.end(),
                     [](const Choice& choice) { return choice.text.ended(); });
}

std::vector<std::string> WholeAnswer::take_texts() {
  std::vector<std::string> texts;
  for (Choice& choice : choices_) texts.push_back(std::move(choice.content));
  return texts;
}

std::string WholeAnswer::body(const Trace& trace) {
  JsonWriter json;
  json.begin_object();
  write_head(json, head_, "chat.completion");
  json.key("choices").begin_array();
  int n_output_tokens = 0;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = choices_[i];
    n_output_tokens += choice.text.n_output_tokens();
    json.begin_object().key("index").number(static_cast<std::int64_t>(i));
    json.key("message").begin_object().key("role").text("assistant");
    json.key("content").text(choice.content).key("refusal").null().end_object();
    json.key("logprobs");
    if (options_.logprobs) {
      write_logprobs(json, choice.text.take_logprobs());
    } else {
      json.null();
    }
    const char* reason = choice.text.finish_reason();
    json.key("finish_reason").text(reason == nullptr ? "stop" : reason).end_object();
  }
  json.end_array().key("usage");
  write_usage(json, trace.counts, n_output_tokens);
  if (options_.with_trace) {
    json.key("tessera");
    write_trace(json, trace);
  }
  json.end_object();
  return std::move(json).take();
}

// --- a stream -----------------------------------------------------------------------------------

namespace {

/// One event: {…head, "choices":[{"index","delta","logprobs","finish_reason"}], "usage":null?}.
class ChunkWriter {
 public:
  ChunkWriter(const AnswerHead& head, const AnswerOptions& options) : options_(options) {
    json_.begin_object();
    write_head(json_, head, "chat.completion.chunk");
    json_.key("choices").begin_array();
  }

  /// Opens the choice and its delta; the caller fills the delta through json().
  JsonWriter& begin_choice(std::size_t index) {
    json_.begin_object().key("index").number(static_cast<std::int64_t>(index));
    return json_.key("delta").begin_object();
  }
  void end_choice(const std::vector<TokenDelta>& logprobs, const char* finish_reason) {
    json_.end_object().key("logprobs");
    if (logprobs.empty()) {
      json_.null();
    } else {
      write_logprobs(json_, logprobs);
    }
    json_.key("finish_reason");
    if (finish_reason == nullptr) {
      json_.null();
    } else {
      json_.text(finish_reason);
    }
    json_.end_object();
  }

  /// @param last  writes what follows the choices in the last event
  template <typename Last>
  std::string finish(const Last& last) && {
    json_.end_array();
    last(json_);
    json_.end_object();
    return "data: " + std::move(json_).take() + "\n\n";
  }
  /// OpenAI's streams with usage have "usage":null in every event but the last.
  std::string finish() && {
    return std::move(*this).finish([this](JsonWriter& json) {
      if (options_.include_usage) json.key("usage").null();
    });
  }

 private:
  const AnswerOptions& options_;
  JsonWriter json_;
};

}  // namespace

StreamedAnswer::StreamedAnswer(AnswerHead head, AnswerOptions options)
    : head_(std::move(head)),
      options_(std::move(options)),
      began_(static_cast<std::size_t>(options_.n_choices)) {
  for (int i = 0; i < options_.n_choices; ++i) choices_.emplace_back(options_.stop);
  if (options_.keeps_texts) texts_.resize(choices_.size());
}

void StreamedAnswer::add(TokenDelta token) {
  const auto index = choice_index(token.choice, choices_.size());
  if (!index || choices_[*index].ended()) return;
  send_role(*index);
  send_text(*index, choices_[*index].add(std::move(token), options_.logprobs));
  if (choices_[*index].ended()) send_end(*index);
}

void StreamedAnswer::add(const ChoiceEnd& end) {
  const auto index = choice_index(end.choice, choices_.size());
  if (!index || choices_[*index].ended()) return;
  send_role(*index);
  send_text(*index, choices_[*index].end(end));
  send_end(*index);
}

bool StreamedAnswer::complete() const {
  return std::all_of(choices_.begin(), choices_.end(),
                     [](const ChoiceText& choice) { return choice.ended(); });
}

void StreamedAnswer::send_role(std::size_t choice) {
  if (began_[choice]) return;
  began_[choice] = true;
  ChunkWriter chunk(head_, options_);
  chunk.begin_choice(choice).key("role").text("assistant").key("content").text("");
  chunk.end_choice({}, nullptr);
  ready_ += std::move(chunk).finish();
}

void StreamedAnswer::send_text(std::size_t choice, const std::string& text) {
  const std::vector<TokenDelta> logprobs = choices_[choice].take_logprobs();
  if (text.empty() && logprobs.empty()) return;
  if (!texts_.empty()) texts_[choice] += text;
  ChunkWriter chunk(head_, options_);
  chunk.begin_choice(choice).key("content").text(text);
  chunk.end_choice(logprobs, nullptr);
  ready_ += std::move(chunk).finish();
}

void StreamedAnswer::send_end(std::size_t choice) {
  ChunkWriter chunk(head_, options_);
  chunk.begin_choice(choice);
  chunk.end_choice({}, choices_[choice].finish_reason());
  ready_ += std::move(chunk).finish();
}

void StreamedAnswer::finish(const Trace& trace) {
  if (options_.include_usage || options_.with_trace) {
    ready_ += ChunkWriter(head_, options_).finish([&](JsonWriter& json) {
      if (options_.include_usage) {
        json.key("usage");
        write_usage(json, trace.counts, count_output_tokens(choices_));
      }
      if (options_.with_trace) {
        json.key("tessera");
        write_trace(json, trace);
      }
    });
  }
  ready_ += "data: [DONE]\n\n";
}

void StreamedAnswer::fail(const Error& error) {
  ready_ += "data: " + error_json(error) + "\n\n";
}

std::string StreamedAnswer::take() {
  n_taken_bytes_ += ready_.size();
  return std::exchange(ready_, {});
}

}  // namespace tessera::api
