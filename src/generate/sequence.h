// One token stream while it runs: where it is in its prompt, what it has put out, and when it ends.
//
// The phase is derived from the position in the prompt, never stored. Rows are described by the
// const methods and committed by advance() after the model call went well, so that a call that
// computed nothing can simply be planned again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/in_flight.h"
#include "core/stop_matcher.h"
#include "generate/prompt_key.h"
#include "runtime/runtime.h"
#include "schedule/plan_admission.h"
#include "schedule/plan_step.h"

namespace tessera::generate {

/// A request that runs: admitted to the KV cache, with `n_open` sequences left.
struct ActiveRequest {
  std::unique_ptr<InFlight> in_flight;
  PromptKey key;
  std::uint64_t arrival = 0;
  int n_open = 0;
  bool is_aside = false;  // it gave way: none of its sequences has a cell, nor a part in a step
};

/// @thread engine thread only
class Sequence {
 public:
  struct Options {
    SequenceId id;
    int choice = 0;
    int output_limit = 0;  // tokens
  };

  /// @param request  outlives the sequence
  Sequence(ActiveRequest& request, const Options& options,
           std::unique_ptr<runtime::Sampler> sampler);

  SequenceId id() const { return options_.id; }
  int choice() const { return options_.choice; }
  /// KV cells: that it has, and will have soon and at most (schedule::Need).
  int n_cells() const { return n_prompt_done_ + n_output_done_; }
  schedule::Need need() const;
  int n_output_tokens() const { return static_cast<int>(output_.size()); }
  ActiveRequest& request() const { return request_; }
  /// Requests in order of their start, choices in order.
  std::pair<std::uint64_t, int> age() const { return {request_.arrival, options_.choice}; }
  schedule::SequenceView view() const;
  /// Whether visual segments of its prompt are still to be prefilled.
  bool needs_features() const { return in_prompt() && visual_ < embeddings().size(); }

  /// Appends the next `n_rows` of the current text segment, or of the output. The last row has the
  /// sampler when a token is to be chosen after it.
  /// @return  whether it has
  bool append_rows(int n_rows, std::vector<runtime::TokenRow>& rows) const;
  /// The next `n_rows` of the current visual segment.
  runtime::VisualRows visual_rows(int n_rows) const;

  // --- when its request gives way ---
  bool is_copied() const { return is_copied_; }
  void set_copied(bool is_copied) { is_copied_ = is_copied; }
  /// Whether all that it had in the KV cache can be computed again: features are gone once they
  /// were used.
  bool can_rewind() const;
  /// All that it had in the KV cache is to be computed again, its output tokens as well, unless
  /// another sequence has its beginning.
  void rewind();

  // --- the beginning of its prompt ---
  /// Tokens of the prompt that are in the KV cache.
  int n_prompt_done() const { return n_prompt_done_; }
  /// What another sequence computes for it.
  struct Awaited {
    SequenceId leader{-1};  // none: it has ended, another is to be found
    PromptPlace place;
    bool has_leader() const { return leader.value >= 0; }
  };
  const std::optional<Awaited>& awaited() const { return awaited_; }
  void await(const std::optional<Awaited>& awaited) { awaited_ = awaited; }
  /// The prompt up to `place` is in the KV cache. Before anything else of it was.
  void begin_at(const PromptPlace& place);

  /// The next `n_rows` were computed.
  void advance(int n_rows);

  /// Takes an output token.
  /// @return  why the choice ends with it, if it does
  std::optional<FinishReason> take(const runtime::SampledToken& sampled, std::string_view piece);

 private:
  const Prompt& prompt() const { return request_.in_flight->prompt; }
  const std::vector<std::shared_ptr<const Embedding>>& embeddings() const {
    return request_.in_flight->embeddings;
  }
  bool in_prompt() const { return segment_ < prompt().segments.size(); }
  /// Output tokens before the last that are to be computed again.
  int n_output_missing() const { return std::max(0, n_output_tokens() - 1 - n_output_done_); }
  void skip_finished_segments();

  ActiveRequest& request_;
  const Options options_;
  const std::unique_ptr<runtime::Sampler> sampler_;
  StopMatcher stop_matcher_;
  const int n_prompt_;  // tokens

  std::size_t segment_ = 0;  // the current one; all of them done = decode
  std::size_t visual_ = 0;   // index of the current or next visual segment among those
  int n_done_ = 0;           // rows of the current segment that were computed
  int n_prompt_done_ = 0;
  std::optional<Awaited> awaited_;
  std::vector<TokenId> output_;  // ≤ options_.output_limit
  int n_output_done_ = 0;        // of them, those in the KV cache: all but the last, unless rewound
  bool is_copied_ = false;
};

}  // namespace tessera::generate
