// The policy of this server on a virtual clock (simulation.h).
// @thread one
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "schedule/plan_admission.h"
#include "schedule/plan_preemption.h"
#include "schedule/plan_step.h"
#include "schedule/step_budget.h"
#include "simulate/machine.h"
#include "simulate/simulation.h"

namespace tessera::simulate {

class ByTokens {
 public:
  /// @param requests  outlive it
  ByTokens(std::span<const SimulatedRequest> requests, const SimulationOptions& options);

  SimulationResult run();

 private:
  /// A request that has a place among the sequences.
  struct Running {
    const SimulatedRequest* request = nullptr;
    std::size_t index = 0;
    std::uint64_t arrival = 0;  // in the order of their start
    int n_prompt_done = 0;
    Clocked output;
    std::uint64_t n_passed_over = 0;  // steps that it could have had a part in, and had none
    int n_rows_ahead = 0;             // its own, and those of older ones, when it began
    bool is_aside = false;

    bool decodes() const { return n_prompt_done == n_prompt_tokens(*request); }
    int n_cells() const { return n_prompt_done + output.n_tokens(); }
  };

  void take_arrivals();
  void encode_until_now();
  void start_waiting();
  void bring_back();
  schedule::StepPlan plan(schedule::StepBudget& budget);
  bool make_room(const schedule::StepPlan& plan);
  void skip_to_next_event();
  void step(const schedule::StepPlan& plan, const schedule::StepBudget& budget);
  void call(const schedule::CallPlan& plan, schedule::CallCost& cost, int n_rows_max);
  double measure(schedule::CallCost& cost, int n_rows);
  void prefill(const schedule::Slice& slice);
  void emit(SequenceId id);
  void count_passed_over(const std::vector<schedule::SequenceView>& views,
                         const schedule::StepPlan& plan);
  int n_rows_ahead(const SimulatedRequest& request) const;

  std::vector<schedule::SequenceView> views() const;
  schedule::SequenceView view(std::size_t id, const Running& running) const;
  int n_cells() const;
  bool anybody_runs() const;

  std::span<const SimulatedRequest> requests_;
  const SimulationOptions options_;
  SimulationResult result_;
  double now_ = 0;
  std::size_t n_arrived_ = 0;
  std::uint64_t n_started_ = 0;
  std::size_t n_ended_ = 0;

  std::vector<int> n_to_encode_;        // tiles of each request that are not encoded yet
  std::vector<std::size_t> encoding_;   // requests with such tiles
  std::optional<std::size_t> encodes_;  // the one whose tile is encoded now
  double tile_end_ = 0;

  std::deque<std::size_t> waiting_;              // for a place, in order
  std::vector<std::optional<Running>> running_;  // by sequence id
  TenantTurns turns_;
  schedule::StepCosts costs_;
  double cost_errors_ = 0;
  std::uint64_t n_expected_ = 0;
};

}  // namespace tessera::simulate
