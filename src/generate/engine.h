// Continuous batching on one thread: takes requests, runs the model step by step, ends requests.
// EngineLoop gives it its thread; tests drive it by hand.
//
// Requests start in the order of plan_admission(), when sequence ids and the KV cells that they
// need soon are free for all their choices. Kept prompts (kv_prefixes.h) have what nobody reserves.
// When a step would need more cells than there are, kept prompts go, and then requests give way:
// they are set aside until there is room again (plan_preemption.h). Every request that was added
// gets exactly one terminal event, whatever the runtime does. When nothing runs, the KV cache holds
// kept prompts alone.
//
// A sequence does not compute what it can share: what is kept, and what an older sequence of its
// tenant computes, from the moment it has done so. Until then it waits, and if the older one ends
// too early, it looks again.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/clock.h"
#include "core/in_flight.h"
#include "generate/batch.h"
#include "generate/engine_options.h"
#include "generate/kv_prefixes.h"
#include "generate/request_need.h"
#include "generate/sequence.h"
#include "runtime/runtime.h"
#include "schedule/plan_admission.h"
#include "schedule/plan_step.h"
#include "schedule/step_budget.h"

namespace tessera::generate {

/// @thread one; the constructor may be called from another
class Engine {
 public:
  /// @param clock     outlives the engine
  /// @param observer  outlives the engine; may be null
  Engine(std::unique_ptr<runtime::Executor> executor, std::shared_ptr<const runtime::Model> model,
         const EngineOptions& options, const Clock& clock, EngineObserver* observer);

  /// Takes a request with its prompt and embeddings; those that are missing arrive through
  /// InFlight::arriving. One that can never fit is ended at once.
  void add(std::unique_ptr<InFlight> request);

  /// One plan and its model call, or two where the model does not take text and visual rows in one.
  /// Also ends what was cancelled or is past its deadline, and starts what fits.
  /// @param stop  ends the model call that runs; end_all() is to follow
  void step(const std::stop_token& stop = {});

  /// Drops what is kept of a tenant. What runs stays.
  void forget(TenantId tenant) { prefixes_.forget(tenant); }
  void forget_all() { prefixes_.shrink_to(0); }

  /// Ends every request with this error.
  void end_all(const Error& error);

  bool idle() const { return running_.empty() && waiting_.empty(); }
  /// The last step computed nothing: everybody who runs waits for features.
  bool starved() const { return starved_; }
  bool takes_more() const { return waiting_.size() < options_.n_waiting_max; }
  EngineStats stats() const;

 private:
  struct WaitingRequest {
    std::unique_ptr<InFlight> in_flight;
    RequestNeed need;
  };

  /// Of all copies to memory so far.
  struct CopyCost {
    double seconds = 0;
    std::int64_t n_cells = 0;
  };

  void end_stopped_requests();
  int calls_left(const ActiveRequest& request) const;
  /// Whether the executor takes calls. When it has lost everything, ends who was in it.
  bool is_ready();
  void share_prefixes();
  void find_prefix(Sequence& sequence);
  void take_prefix(Sequence& sequence, const Sequence& leader, const PromptPlace& place);
  void abandon_followers(SequenceId leader);
  void count_cached(const Sequence& sequence);
  void take_features();
  void free_features(ActiveRequest& request);
  /// The next step, with room for it.
  schedule::StepPlan plan();
  /// Frees KV cells, if a step does not fit. @return  whether it did: then it is another step
  bool make_room(const schedule::StepPlan& plan);
  /// Or ends it, where what it had can neither be copied nor be computed again.
  void set_aside(ActiveRequest& request);
  bool copy_aside(ActiveRequest& request);
  void drop_aside(ActiveRequest& request);
  void report_set_aside(bool copied);
  void bring_back();
  Error kv_cache_full() const;
  std::vector<Sequence*> sequences_of(const ActiveRequest& request) const;
  void start_waiting_requests();
  /// Not when the executor was lost meanwhile: then the request stays.
  void start(WaitingRequest& waiting);
  std::vector<schedule::SequenceView> views() const;

  CallReport run(const schedule::CallPlan& plan, schedule::CallCost& cost,
                 const std::stop_token& stop);
  /// Whether nobody waits for the call any more.
  bool is_in_vain(std::span<const BatchPart> parts) const;

  /// Accounts every running request's time: those with a part in the call that begins, the others.
  void enter_call(std::span<const BatchPart> parts);
  Stage stage_between_calls(const ActiveRequest& request) const;
  /// @param sampled  one for each part that samples, in order
  void commit(const Batch& batch, std::vector<Result<runtime::SampledToken>> sampled);
  void commit_token(Sequence& sequence, runtime::SampledToken token, TimePoint now);
  /// After a call that did not go well.
  void recover(runtime::DecodeStatus status, std::span<const BatchPart> parts);
  void report(const StepReport& step);

  Sequence* find(SequenceId id) { return sequences_[static_cast<std::size_t>(id.value)].get(); }
  void remove(SequenceId id);
  void end_request(ActiveRequest& request, std::optional<Error> error);
  void count_bug();

  const std::unique_ptr<runtime::Executor> executor_;
  const std::shared_ptr<const runtime::Model> model_;
  const EngineOptions options_;
  const schedule::StepBudget budget_max_;
  const Clock& clock_;
  EngineObserver* const observer_;

  std::deque<WaitingRequest> waiting_;                   // oldest first; ≤ options_.n_waiting_max
  std::vector<std::unique_ptr<ActiveRequest>> running_;  // oldest first
  SequenceTable sequences_;
  TenantTurns turns_;
  schedule::StepCosts costs_;
  Duration shortest_call_{};  // of those with many rows; zero = there was none
  KvPrefixes prefixes_;
  bool starved_ = false;
  std::uint64_t n_started_ = 0;
  std::uint64_t n_steps_ = 0;
  std::uint64_t n_bugs_ = 0;
  CopyCost copy_cost_;
};

}  // namespace tessera::generate
