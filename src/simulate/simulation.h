// A server without a model: the scheduler of this program, schedule/, on a virtual clock and a
// machine whose calls take what a formula says. It shows what a policy does under a load in a
// fraction of the time, the same for the same seed.
//
// By tokens: as Engine and EncodeStage do. A request waits for a place, its tiles are encoded one
// after the other while others run, steps are planned by plan_step within step_budget, whose costs
// are learnt from the steps themselves.
//
// By count, for comparison: requests are taken eight at a time; their tiles are encoded and their
// prompts prefilled whole, one after the other; they decode together, and when all have ended the
// next eight are taken.
//
// @thread any; a pure function of its arguments
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/clock.h"
#include "schedule/plan_step.h"
#include "simulate/quantiles.h"
#include "simulate/workload.h"

namespace tessera::simulate {

enum class Policy { kByTokens, kByCount };

/// What computes. The defaults were measured with SmolVLM-256M's shape on two cores with AVX2
/// (docs/scheduling.md).
struct Machine {
  double call_seconds = 0.010;  // a model call of no rows
  double row_seconds = 0.0035;  // a row of it
  double row_cell_seconds = 4e-7;
  double cell_copy_seconds = 5e-5;  // of a KV cell, to memory or back
  double tile_seconds = 2.0;
  /// How much longer steps and tiles take while both run: they share the cores.
  double shared = 1.65;

  int n_sequences = 16;
  int n_kv_cells = 32'768;
};

struct SimulationOptions {
  Policy policy = Policy::kByTokens;
  Machine machine;
  Duration inter_token{};                           // the objective; zero = step_budget's own
  schedule::StepBudget ceiling{true, 64, 64, 512};  // of a step
  int n_batch = 8;                                  // requests taken at once, by count
  /// Requests beyond it are refused, as a server's `limits.requests_max` does.
  std::size_t n_requests_max = 128;
};

struct KindResult {
  std::uint64_t n_ended = 0;
  Quantiles first_token;  // seconds from arrival
  Quantiles inter_token;
  Quantiles total;
};

struct SimulationResult {
  std::array<KindResult, kKindCount> kinds;
  Quantiles inter_token;  // of all
  double seconds = 0;     // virtual, until the last has ended
  std::uint64_t n_steps = 0;
  std::uint64_t n_refused = 0;
  std::uint64_t n_set_aside = 0;
  /// The most steps that a request could have had a part in and had none, for each row of its own
  /// and of those that were older when it began: schedule::kTurnSteps at most.
  double passed_over_per_row_max = 0;
  /// Mean of |expected − real| / real of the model calls that were expected; 0 = none was.
  double cost_error = 0;
};

/// @param requests  in the order of arrival; each fits the machine's cells by itself
SimulationResult simulate(std::span<const SimulatedRequest> requests,
                          const SimulationOptions& options);

}  // namespace tessera::simulate
