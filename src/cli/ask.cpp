#include "cli/ask.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/stage_table.h"
#include "emit/choice_emitter.h"

namespace tessera::cli {
namespace {

std::string json_line(const nlohmann::ordered_json& json) {
  // Bytes that are no UTF-8 become U+FFFD instead of an exception.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Request to_request(const AskOptions& options, const std::string& model,
                   std::vector<EncodedMedia> media) {
  Request request;
  request.model = model;
  if (!options.system.empty()) {
    request.messages.push_back({Role::kSystem, {TextPart{options.system}}});
  }
  Message question{Role::kUser, {}};
  for (std::size_t i = 0; i < media.size(); ++i)
    question.parts.emplace_back(ImagePart{i, options.images.detail});
  question.parts.emplace_back(TextPart{options.question});
  request.messages.push_back(std::move(question));
  request.media = std::move(media);
  request.sampling.temperature = options.temperature;
  request.sampling.seed = options.seed;
  request.max_output_tokens = options.max_tokens;
  request.visual_tokens_max = options.images.visual_tokens_max;
  return request;
}

struct Answer {
  std::string text;
  std::optional<FinishReason> finish;
  std::optional<StreamEnd> end;  // unset = interrupted
};

/// Collects the events of one choice; shows text as it comes.
class AnswerWriter {
 public:
  /// @param shown  null = only collect
  explicit AnswerWriter(std::ostream* shown) : shown_(shown) {}

  void add(const TokenDelta& delta) { add_text(emitter_.feed(delta.piece)); }
  void add(const ChoiceEnd& end) { answer_.finish = end.reason; }
  void add(StreamEnd end) {
    end_line();
    answer_.end.emplace(std::move(end));
  }
  bool ended() const { return answer_.end.has_value(); }

  /// The held-back rest and a line end, so that what follows starts on its own line.
  void end_line() {
    add_text(emitter_.finish());
    if (shown_ != nullptr && !answer_.text.empty()) *shown_ << '\n' << std::flush;
  }

  Answer take() && { return std::move(answer_); }

 private:
  void add_text(const std::string& text) {
    answer_.text += text;
    if (shown_ != nullptr && !text.empty()) *shown_ << printable(text) << std::flush;
  }

  std::ostream* shown_;
  emit::ChoiceEmitter emitter_{{}};
  Answer answer_;
};

Answer read_answer(StreamReader& reader, std::ostream* shown, const std::stop_token& stop) {
  AnswerWriter writer(shown);
  while (!writer.ended()) {
    std::optional<StreamEvent> event = reader->pop(stop);
    if (!event) {
      writer.end_line();
      break;
    }
    std::visit([&writer](auto&& value) { writer.add(std::forward<decltype(value)>(value)); },
               *std::move(event));
  }
  return std::move(writer).take();
}

std::string answer_json(const Answer& answer, const std::string& model, const Trace& trace) {
  nlohmann::ordered_json json;
  json["model"] = model;
  json["answer"] = answer.text;
  json["finish_reason"] = answer.finish == FinishReason::kLength ? "length" : "stop";
  json["usage"] = usage_json(trace.counts);
  json["tessera"] = stage_json(trace);
  return json_line(json);
}

}  // namespace

ExitCode run_ask(const AskOptions& options, CommandInput input, pipeline::Service& service,
                 const Terminal& terminal, const Clock& clock, const std::stop_token& stop) {
  const std::string model = service.model().name;
  auto submitted =
      service.submit(to_request(options, model, std::move(input.media)), TenantId{}, input.trace);
  if (!submitted) return print_error(submitted.error(), options.json, terminal);

  StreamReader reader = std::move(submitted).value();
  Answer answer = read_answer(reader, options.json ? nullptr : &terminal.out, stop);
  if (!answer.end) {
    return print_error(interrupted_error(), options.json, terminal);
  }
  Trace& trace = answer.end->trace;
  trace.finish(clock.now());
  service.account(trace, answer.end->error);
  if (answer.end->error) return print_error(*answer.end->error, options.json, terminal);

  if (options.json) terminal.out << answer_json(answer, model, trace) << std::flush;
  if (!options.json && !options.quiet) terminal.err << '\n' << stage_table(trace) << std::flush;
  return terminal.out ? ExitCode::kOk : ExitCode::kFailed;
}

Error interrupted_error() {
  return make_error(ErrorCode::kCancelled, "interrupted", "interrupted");
}

ExitCode print_error(const Error& error, bool json, const Terminal& terminal) {
  if (json) {
    nlohmann::ordered_json body;
    body["error"]["code"] = to_string(error.code);
    body["error"]["reason"] = error.reason;
    body["error"]["message"] = error.message;
    terminal.out << json_line(body) << std::flush;
  } else {
    terminal.err << "tessera: " << printable(error.message) << '\n' << std::flush;
  }
  return exit_code_of(error);
}

ExitCode print_startup_error(const Error& error, bool json, const Terminal& terminal) {
  print_error(error, json, terminal);
  return startup_exit_code_of(error);
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    // U+0080 … U+009F are control characters, too: C2 80 … C2 9F in UTF-8.
    const bool is_c1 = byte == 0xC2 && i + 1 < text.size() &&
                       (static_cast<unsigned char>(text[i + 1]) & 0xE0U) == 0x80U;
    if (is_c1) ++i;
    if (!is_control && !is_c1) out += static_cast<char>(byte);
  }
  return out;
}

}  // namespace tessera::cli
