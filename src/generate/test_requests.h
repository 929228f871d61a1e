// For the tests of this folder: builds requests the way the earlier stages do, and records what
// comes back for them.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/in_flight.h"
#include "core/mutex.h"
#include "runtime/runtime.h"

namespace tessera::generate {

/// What a test asks for.
struct Ask {
  std::string text;
  std::vector<ImageSize> images = {};
  int n_choices = 1;
  std::optional<int> max_output_tokens = {};
  std::vector<std::string> stop = {};
  float temperature = 0.F;
  ResponseFormat format = {};
  bool logprobs = false;
  std::uint32_t tenant = 0;
};

inline runtime::SampledToken sampled(TokenId token, bool ends_generation = false) {
  runtime::SampledToken result;
  result.token = token;
  result.ends_generation = ends_generation;
  return result;
}

/// Keeps a request's events. @thread all methods are thread-safe
class Recorder final : public EventSink {
 public:
  void push(StreamEvent event) override {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_all();
  }

  std::vector<StreamEvent> events() const {
    MutexLock lock(mutex_);
    return events_;
  }

  void clear() {
    MutexLock lock(mutex_);
    events_.clear();
  }

  void wait_until_ended() {
    MutexLock lock(mutex_);
    while (events_.empty() || !std::holds_alternative<StreamEnd>(events_.back())) {
      changed_.wait(mutex_, {});
    }
  }

  int n_ends() const {
    int n = 0;
    for (const StreamEvent& event : events()) n += std::holds_alternative<StreamEnd>(event) ? 1 : 0;
    return n;
  }

  /// The terminal event, which must be there, once, and last.
  StreamEnd end() const {
    const auto all = events();
    TSR_CHECK(n_ends() == 1 && std::holds_alternative<StreamEnd>(all.back()));
    return std::get<StreamEnd>(all.back());
  }

  std::vector<TokenId> tokens(int choice = 0) const {
    std::vector<TokenId> ids;
    for (const StreamEvent& event : events()) {
      const auto* delta = std::get_if<TokenDelta>(&event);
      if (delta != nullptr && delta->choice == choice) ids.push_back(delta->token);
    }
    return ids;
  }

  std::string text(int choice = 0) const {
    std::string text;
    for (const StreamEvent& event : events()) {
      const auto* delta = std::get_if<TokenDelta>(&event);
      if (delta != nullptr && delta->choice == choice) text += delta->piece;
    }
    return text;
  }

  std::optional<ChoiceEnd> choice_end(int choice = 0) const {
    for (const StreamEvent& event : events()) {
      const auto* end = std::get_if<ChoiceEnd>(&event);
      if (end != nullptr && end->choice == choice) return *end;
    }
    return std::nullopt;
  }

  /// Of the error it ended with; empty = without one.
  std::string reason() const {
    if (n_ends() != 1) return std::to_string(n_ends()) + " terminal events";
    const auto error = end().error;
    return error ? error->reason : "";
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<StreamEvent> events_ TSR_GUARDED_BY(mutex_);
};

/// A request as the test sees it.
struct Asked {
  std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>();
  std::stop_source stop;
};

inline Image test_image(ImageSize size, std::size_t seed) {
  Image image{size, {}};
  for (std::int64_t i = 0; i < size.pixels() * 3; ++i) {
    image.rgb.push_back(static_cast<std::uint8_t>((static_cast<std::size_t>(i) * 31 + seed) % 251));
  }
  return image;
}

/// Runs the stages before the engine on the calling thread, which becomes the encode thread.
inline std::unique_ptr<InFlight> make_request(const runtime::Model& model,
                                              runtime::Encoder* encoder, const Ask& ask,
                                              const Asked& asked, TimePoint now,
                                              Duration time_limit = std::chrono::hours(1)) {
  Request request;
  Message message;
  for (std::size_t i = 0; i < ask.images.size(); ++i) message.parts.emplace_back(ImagePart{i, {}});
  message.parts.emplace_back(TextPart{ask.text});
  request.messages.push_back(std::move(message));
  request.sampling.temperature = ask.temperature;
  request.sampling.seed = 7;
  request.response_format = ask.format;
  request.max_output_tokens = ask.max_output_tokens;
  request.stop = ask.stop;
  request.n_choices = ask.n_choices;
  request.logprobs = ask.logprobs;
  request.n_top_logprobs = ask.logprobs ? 2 : 0;

  auto in_flight = std::make_unique<InFlight>(
      RequestId{1}, TenantId{ask.tenant}, std::move(request), Limits{}, Trace(now),
      now + time_limit, asked.stop.get_token(), asked.recorder);
  const auto parts = model.apply_chat_template(in_flight->request.messages);
  in_flight->prompt = model.tokenize(*parts, whole_images(ask.images)).value();
  for (std::size_t i = 0; i < ask.images.size(); ++i) {
    const auto tiles = model.prepare(test_image(ask.images[i], ask.text.size() + i));
    for (const auto& tile : *tiles) {
      in_flight->embeddings.push_back(
          std::make_shared<const Embedding>(encoder->encode(*tile, {}).value()));
    }
  }
  return in_flight;
}

}  // namespace tessera::generate
