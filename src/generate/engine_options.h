// What the engine is told and what it tells: its ceilings, the hooks for metrics, its counters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/clock.h"
#include "core/limits.h"

namespace tessera::generate {

struct EngineOptions {
  int output_tokens_default = Limits{}.output_tokens_default;  // per choice, when nobody says
  int output_tokens_max = Limits{}.output_tokens_max;          // per choice

  /// Rows of one model call: the quantum that everybody waits for. On two cores 64 rows of a 0.5B
  /// model take half a second, 32 rows a quarter with hardly more cost a row. Raised to four more
  /// than there are sequences, so that prefill goes on while all others decode.
  int n_step_rows = 64;

  /// From one token of an answer to the next while prompts are prefilled beside it: fewer rows than
  /// above where they take longer. Zero = schedule/step_budget.h says how long.
  Duration inter_token{};

  /// Prompts whose KV cells are kept after their requests (kv_prefixes.h); they take as many of the
  /// executor's sequences.
  int n_kept_prefixes = 0;

  /// A tenant that runs something leaves room for others (schedule::plan_admission).
  bool has_several_tenants = false;

  /// Requests in the inbox, and as many taken from it that wait for room: no more than admission
  /// lets in at once.
  std::size_t n_waiting_max = static_cast<std::size_t>(Limits{}.requests_max);
};

/// How full the engine is.
struct EngineLoad {
  int n_running_sequences = 0;
  std::size_t n_waiting_requests = 0;
  int n_kv_cells_used = 0;  // by what runs
  int n_kv_cells_kept = 0;  // by kept prompts; what runs may use them too
  int n_kv_cells = 0;
  int n_set_aside = 0;  // requests that gave way, of those that run
};

/// One model call, with the sampling after it.
struct CallReport {
  int n_text_rows = 0;  // no rows = it did not run, or failed
  int n_visual_rows = 0;
  double seconds = 0;
  std::optional<double> expected_seconds;  // before it ran; nothing before any was measured

  int n_rows() const { return n_text_rows + n_visual_rows; }
};

/// One step that ran the model.
struct StepReport {
  std::array<CallReport, 2> calls;
  Duration duration{};  // from planning to the last event

  int n_text_rows() const { return calls[0].n_text_rows + calls[1].n_text_rows; }
  int n_visual_rows() const { return calls[0].n_visual_rows + calls[1].n_visual_rows; }
  int n_rows() const { return n_text_rows() + n_visual_rows(); }
};

/// @thread called from the engine thread, between two steps; must be cheap and not throw
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  virtual void on_step(const StepReport&) {}
  /// A request gave way to others. @param copied  its KV cells were; else they are computed again
  virtual void on_set_aside(bool copied) { static_cast<void>(copied); }
};

struct EngineStats {
  EngineLoad load;
  std::uint64_t n_steps = 0;
  /// Surprises that were survived: batches that the runtime called invalid, KV cells in use while
  /// idle. Each is a bug.
  std::uint64_t n_bugs = 0;
};

}  // namespace tessera::generate
