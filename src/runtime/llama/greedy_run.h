// For tests: answers of several prompts at once, without the engine, so that a difference is the
// runtime's own. Steps are as the engine's: one call, or one for each kind of rows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "runtime/llama/bundled_model.h"
#include "runtime/llama/llama_executor.h"

namespace tessera::runtime::llama {

/// A prompt with the embedding of each visual segment.
struct ReadyPrompt {
  Prompt prompt;
  std::vector<Embedding> embeddings;
};

struct GreedyAnswer {
  std::vector<TokenId> ids;  // with the end-of-generation token
  std::string text;          // without
  /// Smallest distance between the best and the second score, over all ids.
  float margin = std::numeric_limits<float>::infinity();
};

/// Encodes every image of one request. Call from one thread only.
inline ReadyPrompt make_ready(LoadedModel& loaded, std::span<const Message> messages,
                              std::span<const Image> images) {
  ReadyPrompt ready;
  std::vector<ImageSize> sizes;
  for (const Image& image : images) sizes.push_back(image.size);
  const auto parts = loaded.model->apply_chat_template(messages);
  if (!parts) ADD_FAILURE() << parts.error().message;
  auto prompt = loaded.model->tokenize(parts.value(), whole_images(sizes));
  if (!prompt) ADD_FAILURE() << prompt.error().message;
  ready.prompt = std::move(prompt).value();
  for (const Image& image : images) {
    auto tiles = loaded.model->prepare(image);
    for (const auto& tile : tiles.value()) {
      ready.embeddings.push_back(loaded.encoder->encode(*tile, {}).value());
    }
  }
  return ready;
}

/// One prompt on its way through the executor; sequence i runs prompt i.
class GreedySequence {
 public:
  GreedySequence(const LoadedModel& loaded, const ReadyPrompt& ready, int sequence, int n_ids_max)
      : loaded_(loaded),
        ready_(ready),
        sequence_{sequence},
        n_ids_max_(n_ids_max),
        sampler_(loaded.model->make_sampler({}).value()),
        position_(ready.prompt.n_positions) {}

  bool done() const { return done_; }
  const GreedyAnswer& answer() const { return answer_; }

  void add_token_rows(int n_rows_max, std::vector<TokenRow>& rows) {
    logits_row_ = -1;
    if (done_) return;
    if (segment_ == ready_.prompt.segments.size()) {
      logits_row_ = static_cast<int>(rows.size());
      rows.push_back({sequence_, answer_.ids.back(), position_++, sampler_.get()});
      return;
    }
    const auto* text = std::get_if<TextSegment>(&ready_.prompt.segments[segment_]);
    if (text == nullptr) return;
    for (int n = 0; n < n_rows_max && row_ < text->tokens.size(); ++n, ++row_) {
      rows.push_back({sequence_, text->tokens[row_],
                      text->first_position + static_cast<Position>(row_), nullptr});
    }
    if (row_ < text->tokens.size()) return;
    row_ = 0;
    if (++segment_ < ready_.prompt.segments.size()) return;
    rows.back().sampler = sampler_.get();
    logits_row_ = static_cast<int>(rows.size()) - 1;
  }

  /// After the text call, so that its scores are read before the next call overwrites them.
  void read_scores() {
    if (logits_row_ < 0) return;
    const std::span<const float> scores =
        static_cast<const LlamaExecutor&>(*loaded_.executor).logits(logits_row_);
    const auto best = std::max_element(scores.begin(), scores.end());
    float second = -std::numeric_limits<float>::infinity();
    for (auto it = scores.begin(); it != scores.end(); ++it) {
      if (it != best) second = std::max(second, *it);
    }
    answer_.margin = std::min(answer_.margin, *best - second);
    answer_.ids.push_back(static_cast<TokenId>(best - scores.begin()));
    const auto& model = static_cast<const LlamaModel&>(*loaded_.model);
    done_ = llama_vocab_is_eog(model.vocabulary(), answer_.ids.back());
    if (!done_) answer_.text += model.piece(answer_.ids.back());
    done_ = done_ || static_cast<int>(answer_.ids.size()) == n_ids_max_;
  }

  /// @return  whether it had any
  bool add_visual_rows(int n_rows_max, std::vector<VisualRows>& slices) {
    logits_row_ = -1;
    if (segment_ == ready_.prompt.segments.size()) return false;
    const auto* visual = std::get_if<VisualSegment>(&ready_.prompt.segments[segment_]);
    if (visual == nullptr) return false;
    const int first = static_cast<int>(row_);
    const int n = std::min(n_rows_max, visual->n_tokens - first);
    const auto positions = std::span(visual->positions).subspan(row_, static_cast<std::size_t>(n));
    const Embedding& embedding = ready_.embeddings[visual->image_index];
    const auto width = static_cast<std::size_t>(embedding.row_width);
    const auto rows = std::span(embedding.rows).subspan(row_ * width, positions.size() * width);
    slices.push_back({sequence_, rows, positions, first, visual->n_tokens, false});
    row_ += static_cast<std::size_t>(n);
    if (static_cast<int>(row_) == visual->n_tokens) {
      row_ = 0;
      ++segment_;
    }
    return true;
  }

 private:
  const LoadedModel& loaded_;
  const ReadyPrompt& ready_;
  const SequenceId sequence_;
  const int n_ids_max_;
  const std::shared_ptr<Sampler> sampler_;  // only so that there are scores
  GreedyAnswer answer_;
  std::size_t segment_ = 0;
  std::size_t row_ = 0;  // inside the segment
  Position position_;
  int logits_row_ = -1;
  bool done_ = false;
};

/// Runs all prompts side by side; prefill takes at most `slice_rows` rows of each in a step.
/// @param mixes  whether text and visual rows go in one call
/// @param aside  every so many steps each sequence is set aside and brought back; 0 = never
inline std::vector<GreedyAnswer> run_greedy(LoadedModel& loaded,
                                            std::span<const ReadyPrompt> prompts, int slice_rows,
                                            bool mixes = false, int n_ids_max = 64, int aside = 0) {
  std::vector<GreedySequence> sequences;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    sequences.emplace_back(loaded, prompts[i], static_cast<int>(i), n_ids_max);
  }
  const auto done = [&] { return std::ranges::all_of(sequences, &GreedySequence::done); };
  for (int step = 1; !done() && !testing::Test::HasFailure(); ++step) {
    std::vector<TokenRow> rows;
    std::vector<VisualRows> slices;
    for (GreedySequence& sequence : sequences) {
      if (!sequence.add_visual_rows(slice_rows, slices)) sequence.add_token_rows(slice_rows, rows);
    }
    if (mixes) {
      EXPECT_EQ(loaded.executor->decode(rows, slices, {}).status, DecodeStatus::kOk);
    } else {
      if (!slices.empty())
        EXPECT_EQ(loaded.executor->decode({}, slices, {}).status, DecodeStatus::kOk);
      if (!rows.empty()) EXPECT_EQ(loaded.executor->decode(rows, {}, {}).status, DecodeStatus::kOk);
    }
    for (GreedySequence& sequence : sequences) sequence.read_scores();
    if (aside == 0 || step % aside != 0) continue;
    // All out and all back, so that they get other cells than they had.
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      EXPECT_TRUE(loaded.executor->set_aside(SequenceId{static_cast<int>(i)}));
    }
    EXPECT_EQ(loaded.executor->n_kv_cells_used(), 0);
    for (std::size_t i = sequences.size(); i-- > 0;) {
      EXPECT_TRUE(loaded.executor->bring_back(SequenceId{static_cast<int>(i)}));
    }
  }
  std::vector<GreedyAnswer> answers;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    loaded.executor->remove(SequenceId{static_cast<int>(i)});
    answers.push_back(sequences[i].answer());
  }
  return answers;
}

}  // namespace tessera::runtime::llama
