// The language model as the engine uses it: model calls on rows of any sequences, the tokens that
// they choose, and the KV cache that they fill. Part of runtime.h, which says how it goes with the
// others.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/prompt.h"
#include "core/result.h"
#include "core/token_event.h"

namespace tessera::runtime {

/// Chooses the tokens of one sequence; holds its random state and grammar. What is inside belongs
/// to the runtime that made it (Model::make_sampler).
/// @thread engine thread only
class Sampler {
 public:
  virtual ~Sampler() = default;
};

struct SampledToken {
  TokenId token = 0;
  bool ends_generation = false;
  std::optional<float> logprob;
  std::vector<TokenLogprob> top_logprobs;
};

/// One text token of one sequence in a model call.
struct TokenRow {
  SequenceId sequence;
  TokenId token = 0;
  Position position = 0;
  Sampler* sampler = nullptr;  // chooses the token that comes after this one; null = none is chosen
  friend bool operator==(const TokenRow&, const TokenRow&) = default;
};

/// Consecutive rows of one visual segment in a model call.
struct VisualRows {
  SequenceId sequence;
  std::span<const float> rows;                // [positions.size()][embedding_row_width]; borrowed
  std::span<const VisualPosition> positions;  // one a row; borrowed for the call
  int first_row = 0;                          // of the segment's
  int n_segment_rows = 0;                     // of the whole segment
  bool non_causal = false;

  int n_rows() const { return static_cast<int>(positions.size()); }
};

/// Consecutive tokens of one sequence.
struct KvRange {
  int first_token = 0;
  int n_tokens = 0;
  Position begin = 0;  // of the first
  Position end = 0;    // of the one after the last
};

/// Whether a call that runs is to end. Asked on the thread that called.
using ShouldStop = std::function<bool()>;

/// What a model call came to, by what the engine must do next (libllama's codes: llama.h).
enum class DecodeStatus {
  kOk,
  kNoKvSlot,      // 1: nothing was computed; free cells and plan again
  kAborted,       // 2: stopped on request; positions must be read again
  kInvalidBatch,  // −1: a bug of ours; nothing was computed
  kFatal,         // < −1: the sequences of this batch are lost
  kLost,          // all sequences are, with the KV cache: see Availability
};

struct CallResult {
  DecodeStatus status = DecodeStatus::kFatal;
  /// With kOk, one for each row that has a sampler, in order. An error is that sequence's alone:
  /// internal (the native sampler failed).
  std::vector<Result<SampledToken>> sampled;
};

/// Whether calls can be made. Only what computes in another process is ever anything but ready.
enum class Availability {
  kReady,
  kLost,      // the process died, and the KV cache with it: forget(), and wait
  kStarting,  // it is being started again
  kFailed,    // it does not start; tried again
};

/// @thread engine thread only
class Executor {
 public:
  virtual ~Executor() = default;

  virtual int n_sequences_max() const = 0;
  /// KV cells, shared by all sequences; one per token.
  virtual int n_kv_cells() const = 0;
  /// Rows that one model call can take.
  virtual int n_rows_max() const = 0;

  /// Whether text and visual rows go into one call. Where they do not, a call has one kind.
  virtual bool can_mix() const = 0;

  /// Runs the model on rows of any sequences. A sequence has rows of one kind in a call, in order;
  /// positions continue where its last call ended. The rows of both kinds are between 1 and
  /// n_rows_max().
  ///
  /// A non-causal slice comes whole and is the only visual one; beside it every other sequence has
  /// one row at most, for in such a call a row sees those of its sequence that come after it.
  ///
  /// @param stop  asked between the nodes of the graph, so that a long call ends within one of
  /// them:
  ///              kAborted. Empty = never
  virtual CallResult decode(std::span<const TokenRow> tokens, std::span<const VisualRows> visual,
                            const ShouldStop& stop) = 0;

  /// Between two calls, by whoever has the time: begins the next one on the guess that each
  /// sequence of the last goes on with the token that it chose. A call that is just that finds its
  /// rows computed; before anything else happens they are taken back. Nothing else tells that it
  /// ran.
  virtual void anticipate() {}

  virtual Availability availability() { return Availability::kReady; }

  /// After a loss: no sequence has anything in the KV cache any more.
  virtual void forget() {}

  /// Whether share() works. Not where layers forget (sliding windows) or keep a state of their own
  /// (recurrent ones).
  virtual bool can_share() const = 0;

  /// Lets `to` use cells of `from`; nothing is copied. `to` has range.first_token tokens before,
  /// and continues at range.end. The range neither begins nor ends inside a visual segment.
  virtual void share(SequenceId from, SequenceId to, const KvRange& range) = 0;

  /// Frees every KV cell that this sequence alone uses, and drops what was set aside of it. Any
  /// state; idempotent.
  virtual void remove(SequenceId sequence) = 0;

  /// Copies what the KV cache has of a sequence to memory, and frees its cells as remove() does.
  /// The sequence is empty until bring_back(), and in no call.
  /// @return  false where it cannot be copied, e.g. for want of memory; nothing has changed then
  virtual bool set_aside(SequenceId sequence) = 0;

  /// The sequence goes on where it was, in cells of its own: what it shared it shares no more.
  /// @return  false where the copy is lost or too few cells are free; the sequence is empty then
  virtual bool bring_back(SequenceId sequence) = 0;

  /// Cells in use, over all sequences; one that several share counts once.
  virtual int n_kv_cells_used() const = 0;
};

}  // namespace tessera::runtime
