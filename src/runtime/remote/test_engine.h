// For the tests of this folder: an engine process with the fake runtime, and a question to it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "runtime/remote/remote_model.h"

namespace tessera::runtime::remote {

using std::chrono::milliseconds;

inline Message said(const std::string& text, int n_images = 0) {
  Message message;
  for (int i = 0; i < n_images; ++i) {
    message.parts.emplace_back(ImagePart{static_cast<std::size_t>(i)});
  }
  message.parts.emplace_back(TextPart{text});
  return message;
}

inline Image some_image() {
  Image image{{56, 28}, {}};
  for (int i = 0; i < 56 * 28 * 3; ++i) image.rgb.push_back(static_cast<std::uint8_t>(i % 251));
  return image;
}

/// The answer to one question about one image, greedy, or the error in place of it.
inline Result<std::string> ask(LoadedModel& loaded, const std::string& text,
                               SequenceId sequence = {}) {
  const Image image = some_image();
  const std::vector<Message> messages{said(text, 1)};
  TSR_ASSIGN_OR_RETURN(const auto parts, loaded.model->apply_chat_template(messages));
  TSR_ASSIGN_OR_RETURN(const Prompt prompt,
                       loaded.model->tokenize(parts, std::vector<ImageInput>{{image.size}}));
  TSR_ASSIGN_OR_RETURN(const auto tiles, loaded.model->prepare(image));
  TSR_ASSIGN_OR_RETURN(const Embedding embedding, loaded.encoder->encode(*tiles.front(), {}));
  SamplerOptions greedy;
  greedy.sampling.temperature = 0;
  TSR_ASSIGN_OR_RETURN(const auto sampler, loaded.model->make_sampler(greedy));
  std::string answer;
  const auto decode = [&](std::span<const TokenRow> tokens,
                          std::span<const VisualRows> visual) -> Result<CallResult> {
    CallResult result = loaded.executor->decode(tokens, visual, {});
    if (result.status == DecodeStatus::kOk) return result;
    return result.status == DecodeStatus::kLost
               ? engine_lost_error()
               : make_error(ErrorCode::kInternal, "internal_error", "");
  };
  SampledToken last;
  for (const Segment& segment : prompt.segments) {
    if (const auto* visual = std::get_if<VisualSegment>(&segment)) {
      const std::vector<VisualRows> slices{
          {sequence, embedding.rows, visual->positions, 0, visual->n_tokens, false}};
      TSR_RETURN_IF_ERROR(decode({}, slices));
      continue;
    }
    const auto& tokens = std::get<TextSegment>(segment);
    std::vector<TokenRow> rows;
    for (std::size_t i = 0; i < tokens.tokens.size(); ++i) {
      rows.push_back(
          {sequence, tokens.tokens[i], tokens.first_position + static_cast<Position>(i), nullptr});
    }
    if (&segment == &prompt.segments.back()) rows.back().sampler = sampler.get();
    TSR_ASSIGN_OR_RETURN(auto result, decode(rows, {}));
    if (rows.back().sampler != nullptr) {
      TSR_ASSIGN_OR_RETURN(last, std::move(result.sampled.front()));
    }
  }
  for (Position position = prompt.n_positions; !last.ends_generation; ++position) {
    answer += loaded.model->piece(last.token);
    const std::vector<TokenRow> rows{{sequence, last.token, position, sampler.get()}};
    TSR_ASSIGN_OR_RETURN(auto result, decode(rows, {}));
    TSR_ASSIGN_OR_RETURN(last, std::move(result.sampled.front()));
  }
  loaded.executor->remove(sequence);
  return answer;
}

class RemoteEngineTest : public testing::Test {
 protected:
  /// @param plan  when the engine dies (fake_engine_main.cpp)
  Result<void> start(const std::string& plan = "", bool counts_lives = false,
                     const std::string& projector = "") {
    EngineProcessOptions options;
    options.program = TESSERA_FAKE_ENGINE;
    options.load.model_path = plan;
    options.load.mmproj_path = projector;
    if (counts_lives) options.environment = {"LIVES_FILE=" + lives_file()};
    options.restart_delay_min = options.restart_delay_max = milliseconds(1);
    options.on_death = [this](sandbox::ExitStatus status) {
      last_signal = status.kind == sandbox::ExitStatus::Kind::kSignalled ? status.value : 0;
      ++n_deaths;
    };
    TSR_ASSIGN_OR_RETURN(process, EngineProcess::start(std::move(options)));
    remote = attach(process);
    return {};
  }

  ~RemoteEngineTest() override { std::remove(lives_file().c_str()); }

  /// Tests run side by side, each in a process of its own.
  static std::string own_file(const std::string& name) {
    return testing::TempDir() + "/" + name + "-" + std::to_string(::getpid());
  }
  static std::string lives_file() { return own_file("engine-lives"); }

  void wait_until_ready() { ASSERT_TRUE(process->wait_until_ready({})); }
  /// Waits for the end of the life that runs.
  void wait_for_death(int n) {
    while (n_deaths < n) std::this_thread::yield();
  }

  std::atomic<int> n_deaths{0};
  std::atomic<int> last_signal{0};
  std::shared_ptr<EngineProcess> process;
  LoadedModel remote;
};

}  // namespace tessera::runtime::remote
