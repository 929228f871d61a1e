#include "generate/sequence.h"

#include <utility>

#include "core/check.h"

namespace tessera::generate {

Sequence::Sequence(ActiveRequest& request, const Options& options,
                   std::unique_ptr<runtime::Sampler> sampler)
    : request_(request),
      options_(options),
      sampler_(std::move(sampler)),
      stop_matcher_(request.in_flight->request.stop),
      n_prompt_(request.in_flight->prompt.n_tokens()) {
  skip_finished_segments();
}

schedule::SequenceView Sequence::view() const {
  schedule::SequenceView view;
  view.id = options_.id;
  view.tenant = request_.in_flight->tenant;
  view.arrival = request_.arrival;
  view.phase = schedule::Phase::kDecode;
  if (!in_prompt() && n_output_missing() == 0) return view;
  view.n_prompt_left = n_prompt_ - n_prompt_done_ + n_output_missing();
  if (!in_prompt()) {
    view.phase = schedule::Phase::kPrefillText;
    view.n_left = n_output_missing();
    return view;
  }
  if (awaited_) {
    view.phase = schedule::Phase::kAwaitPrefix;
    return view;
  }
  const Segment& segment = prompt().segments[segment_];
  view.n_left = segment_tokens(segment) - n_done_;
  view.phase = schedule::Phase::kPrefillText;
  if (const auto* visual = std::get_if<VisualSegment>(&segment)) {
    view.phase = embeddings()[visual_] != nullptr ? schedule::Phase::kPrefillVisual
                                                  : schedule::Phase::kAwaitFeatures;
    view.non_causal = visual->non_causal;
  }
  return view;
}

bool Sequence::append_rows(int n_rows, std::vector<runtime::TokenRow>& rows) const {
  if (!in_prompt()) {
    for (int i = n_output_done_; i < n_output_done_ + n_rows; ++i) {
      rows.push_back(
          {id(), output_[static_cast<std::size_t>(i)], prompt().n_positions + i, nullptr});
    }
    const bool ends_output = n_output_done_ + n_rows == n_output_tokens();
    if (ends_output) rows.back().sampler = sampler_.get();
    return ends_output;
  }
  const auto& text = std::get<TextSegment>(prompt().segments[segment_]);
  for (int i = n_done_; i < n_done_ + n_rows; ++i) {
    rows.push_back(
        {id(), text.tokens[static_cast<std::size_t>(i)], text.first_position + i, nullptr});
  }
  const bool ends_prompt = segment_ + 1 == prompt().segments.size() &&
                           n_done_ + n_rows == static_cast<int>(text.tokens.size());
  const bool samples = ends_prompt && output_.empty();
  if (samples) rows.back().sampler = sampler_.get();
  return samples;
}

runtime::VisualRows Sequence::visual_rows(int n_rows) const {
  const auto& segment = std::get<VisualSegment>(prompt().segments[segment_]);
  runtime::VisualRows slice;
  slice.sequence = id();
  const Embedding& embedding = *embeddings()[visual_];
  const auto first = static_cast<std::size_t>(n_done_);
  const auto n = static_cast<std::size_t>(n_rows);
  const auto width = static_cast<std::size_t>(embedding.row_width);
  slice.rows = std::span(embedding.rows).subspan(first * width, n * width);
  slice.positions = std::span(segment.positions).subspan(first, n);
  slice.first_row = n_done_;
  slice.n_segment_rows = segment.n_tokens;
  slice.non_causal = segment.non_causal;
  return slice;
}

void Sequence::begin_at(const PromptPlace& place) {
  TSR_CHECK(n_prompt_done_ == 0);
  for (; segment_ < place.piece; ++segment_) {
    if (std::holds_alternative<VisualSegment>(prompt().segments[segment_])) ++visual_;
  }
  n_done_ = place.n_in_piece;
  n_prompt_done_ = place.n_tokens;
  skip_finished_segments();
}

schedule::Need Sequence::need() const {
  return {1, schedule::n_cells_soon(n_prompt_, n_output_tokens(), options_.output_limit),
          n_prompt_ + options_.output_limit};
}

bool Sequence::can_rewind() const {
  const auto is_visual = [](const Segment& segment) {
    return std::holds_alternative<VisualSegment>(segment);
  };
  return !embeddings().empty() || std::ranges::none_of(prompt().segments, is_visual);
}

void Sequence::rewind() {
  segment_ = 0;
  visual_ = 0;
  n_done_ = 0;
  n_prompt_done_ = 0;
  n_output_done_ = 0;
  awaited_ = Awaited{};  // whoever has its beginning is looked for
  skip_finished_segments();
}

void Sequence::advance(int n_rows) {
  if (!in_prompt()) {
    n_output_done_ += n_rows;
    return;
  }
  n_done_ += n_rows;
  n_prompt_done_ += n_rows;
  TSR_DCHECK(n_done_ <= segment_tokens(prompt().segments[segment_]));
  skip_finished_segments();
}

void Sequence::skip_finished_segments() {
  while (in_prompt() && n_done_ == segment_tokens(prompt().segments[segment_])) {
    if (std::holds_alternative<VisualSegment>(prompt().segments[segment_])) ++visual_;
    ++segment_;
    n_done_ = 0;
  }
}

std::optional<FinishReason> Sequence::take(const runtime::SampledToken& sampled,
                                           std::string_view piece) {
  output_.push_back(sampled.token);
  if (sampled.ends_generation) return FinishReason::kStop;
  stop_matcher_.feed(piece);
  if (stop_matcher_.stopped()) return FinishReason::kStop;
  if (n_output_tokens() >= options_.output_limit) return FinishReason::kLength;
  return std::nullopt;
}

}  // namespace tessera::generate
