#include "generate/engine.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace tessera::generate {
namespace {

using runtime::DecodeStatus;

/// Of a prompt, beside everybody who decodes, in the largest step.
constexpr int kRowsBesideDecode = 4;

/// Rows of a call that tell how long prefill takes; fewer are mostly output tokens.
constexpr int kPrefillRows = 16;

/// How much faster the cores are than in the shortest call so far, at the most: it may have had
/// half of them.
constexpr int kFasterAtMost = 2;

/// Ids of sequences for kept prompts: the last ones, and at least one is left to run.
int n_kept_max(const EngineOptions& options, const runtime::Executor& executor) {
  if (!executor.can_share()) return 0;
  return std::clamp(options.n_kept_prefixes, 0, executor.n_sequences_max() - 1);
}

/// Half of the cells: the other half always runs, and attention goes over all that are in use.
KvPrefixOptions prefix_options(const EngineOptions& options, const runtime::Executor& executor) {
  const int n_max = n_kept_max(options, executor);
  return {SequenceId{executor.n_sequences_max() - n_max}, n_max, executor.n_kv_cells() / 2};
}

schedule::StepBudget budget_of(const EngineOptions& options, const runtime::Executor& executor) {
  const int n_rows_max = executor.n_rows_max();
  const int n_running_max = executor.n_sequences_max() - n_kept_max(options, executor);
  return {executor.can_mix(),
          std::clamp(options.n_step_rows, std::min(n_running_max + kRowsBesideDecode, n_rows_max),
                     n_rows_max),
          std::clamp(options.n_step_rows, 1, n_rows_max), n_rows_max};
}

runtime::SamplerOptions sampler_options(const Request& request, int choice) {
  runtime::SamplerOptions options{request.sampling, request.response_format, request.logprobs,
                                  request.n_top_logprobs};
  if (options.sampling.seed) *options.sampling.seed += static_cast<std::uint64_t>(choice);
  return options;
}

bool is_non_causal(const Segment& segment) {
  const auto* visual = std::get_if<VisualSegment>(&segment);
  return visual != nullptr && visual->non_causal;
}

Stage stage_of(schedule::Phase phase) {
  switch (phase) {
    case schedule::Phase::kPrefillText:
      return Stage::kPrefillText;
    case schedule::Phase::kPrefillVisual:
      return Stage::kPrefillVisual;
    case schedule::Phase::kDecode:
      return Stage::kDecode;
    case schedule::Phase::kAwaitFeatures:
      return Stage::kEncodeWait;
    case schedule::Phase::kAwaitPrefix:
      return Stage::kScheduleWait;
  }
  return Stage::kScheduleWait;
}

}  // namespace

Engine::Engine(std::unique_ptr<runtime::Executor> executor,
               std::shared_ptr<const runtime::Model> model, const EngineOptions& options,
               const Clock& clock, EngineObserver* observer)
    : executor_(std::move(executor)),
      model_(std::move(model)),
      options_(options),
      budget_max_(budget_of(options, *executor_)),
      clock_(clock),
      observer_(observer),
      sequences_(
          static_cast<std::size_t>(executor_->n_sequences_max() - n_kept_max(options, *executor_))),
      prefixes_(*executor_, prefix_options(options, *executor_)) {}

void Engine::add(std::unique_ptr<InFlight> request) {
  auto need = need_of(
      *request, model_->info(),
      {static_cast<int>(sequences_.size()), executor_->n_kv_cells(), executor_->n_rows_max()},
      options_);
  if (!need) {
    request->end(std::move(need).error(), clock_.now());
    return;
  }
  waiting_.push_back({std::move(request), *need});
}

void Engine::step(const std::stop_token& stop) {
  const TimePoint begin = clock_.now();
  end_stopped_requests();
  starved_ = !is_ready();
  if (starved_) return;
  take_features();
  bring_back();
  start_waiting_requests();
  share_prefixes();
  const schedule::StepPlan plan = this->plan();
  starved_ = plan.empty() && !running_.empty();
  if (starved_) enter_call({});
  const CallReport first = run(plan.first, costs_.first, stop);
  const CallReport second = run(plan.second, costs_.second, stop);
  report({{first, second}, clock_.now() - begin});
}

schedule::StepPlan Engine::plan() {
  while (true) {  // each turn but the last drops a kept prompt or sets a request aside
    const std::vector<schedule::SequenceView> sequences = views();
    const schedule::StepBudget budget = schedule::step_budget(
        sequences, costs_, executor_->n_kv_cells_used(), options_.inter_token, budget_max_);
    schedule::StepPlan plan = schedule::plan_step(sequences, budget, n_steps_);
    if (!make_room(plan)) return plan;
  }
}

CallReport Engine::run(const schedule::CallPlan& plan, schedule::CallCost& cost,
                       const std::stop_token& stop) {
  const Batch batch = build_batch(plan, sequences_);
  if (batch.n_rows() == 0) return {};
  enter_call(batch.parts);
  const int n_cells = executor_->n_kv_cells_used();
  const auto expected = cost.seconds(batch.n_rows(), n_cells);
  const TimePoint begin = clock_.now();
  runtime::CallResult result = executor_->decode(
      batch.tokens, batch.visual, [&] { return stop.stop_requested() || is_in_vain(batch.parts); });
  if (result.status == DecodeStatus::kAborted && stop.stop_requested()) return {};
  if (result.status != DecodeStatus::kOk) {
    recover(result.status, batch.parts);
    return {};
  }
  commit(batch, std::move(result.sampled));
  const Duration duration = clock_.now() - begin;
  const double seconds = to_seconds(duration);
  cost.record(batch.n_rows(), n_cells, seconds);
  if (batch.n_rows() >= kPrefillRows) {
    shortest_call_ =
        shortest_call_ == Duration::zero() ? duration : std::min(shortest_call_, duration);
  }
  return {static_cast<int>(batch.tokens.size()), batch.n_visual_rows, seconds, expected};
}

bool Engine::is_in_vain(std::span<const BatchPart> parts) const {
  const TimePoint now = clock_.now();
  return std::ranges::all_of(parts, [&](const BatchPart& part) {
    const auto& sequence = sequences_[static_cast<std::size_t>(part.sequence.value)];
    return sequence->request().in_flight->should_stop(now).has_value();
  });
}

void Engine::end_stopped_requests() {
  const TimePoint now = clock_.now();
  for (std::size_t i = running_.size(); i-- > 0;) {
    const Duration at_least = calls_left(*running_[i]) * shortest_call_ / kFasterAtMost;
    if (auto error = running_[i]->in_flight->should_stop(now, at_least)) {
      end_request(*running_[i], std::move(error));
    }
  }
  std::erase_if(waiting_, [now](WaitingRequest& waiting) {
    auto error = waiting.in_flight->should_stop(now);
    if (!error) return false;
    waiting.in_flight->end(std::move(error), now);
    return true;
  });
}

/// Calls full of rows that are to be computed until it has its next token, whatever others have
/// computed by then.
int Engine::calls_left(const ActiveRequest& request) const {
  int n_rows = 0;
  for (const Sequence* sequence : sequences_of(request)) {
    if (sequence->awaited() || sequence->is_copied()) continue;
    const schedule::SequenceView view = sequence->view();
    if (view.phase != schedule::Phase::kDecode) n_rows = std::max(n_rows, view.n_prompt_left);
  }
  // An image that is computed whole may have more rows than a slice.
  const bool is_sliced = std::ranges::none_of(request.in_flight->prompt.segments, is_non_causal);
  return is_sliced ? n_rows / std::max(budget_max_.n_rows, budget_max_.n_visual_rows) : 0;
}

bool Engine::is_ready() {
  switch (executor_->availability()) {
    case runtime::Availability::kReady:
      return true;
    case runtime::Availability::kLost:
      while (!running_.empty()) end_request(*running_.back(), engine_lost_error());
      prefixes_.shrink_to(0);
      executor_->forget();
      return false;
    case runtime::Availability::kStarting:
      return false;
    case runtime::Availability::kFailed:
      end_all(engine_unavailable_error());
      return false;
  }
  return false;
}

void Engine::start_waiting_requests() {
  if (waiting_.empty()) return;
  std::vector<schedule::WaitingNeed> waiting;
  for (const WaitingRequest& request : waiting_) {
    waiting.push_back({request.in_flight->tenant, request.need.total});
  }
  // Those that are set aside as well: nobody starts on what they come back to.
  std::map<TenantId, schedule::Need> running;
  std::int64_t n_free_cells = executor_->n_kv_cells();
  for (const auto& sequence : sequences_) {
    if (sequence == nullptr) continue;
    const schedule::Need need = sequence->need();
    const TenantId tenant = sequence->request().in_flight->tenant;
    running.try_emplace(tenant, schedule::Need{0}).first->second.add(need);
    n_free_cells -= need.n_kv_cells;
  }
  const schedule::Room room{
      schedule::total_of(static_cast<int>(sequences_.size()), executor_->n_kv_cells()),
      options_.has_several_tenants};
  for (const std::size_t i : schedule::plan_admission(waiting, room, running, turns_)) {
    n_free_cells -= waiting[i].need.n_kv_cells;
    prefixes_.shrink_to(static_cast<int>(n_free_cells));
    start(waiting_[i]);
  }
  std::erase_if(waiting_, [](const WaitingRequest& request) { return !request.in_flight; });
}

void Engine::start(WaitingRequest& waiting) {
  const Request& request = waiting.in_flight->request;
  std::vector<std::unique_ptr<runtime::Sampler>> samplers;
  for (int choice = 0; choice < request.n_choices; ++choice) {
    auto sampler = model_->make_sampler(sampler_options(request, choice));
    if (!sampler) {
      if (is_engine_lost(sampler.error())) return;
      waiting.in_flight->end(std::move(sampler).error(), clock_.now());
      waiting.in_flight.reset();
      return;
    }
    samplers.push_back(std::move(*sampler));
  }
  running_.push_back(std::make_unique<ActiveRequest>(
      ActiveRequest{std::move(waiting.in_flight), {}, n_started_++, request.n_choices}));
  ActiveRequest& active = *running_.back();
  active.key = key_of(*active.in_flight);
  for (std::size_t id = 0, choice = 0; choice < samplers.size(); ++id) {
    if (sequences_[id] != nullptr) continue;
    sequences_[id] = std::make_unique<Sequence>(
        active,
        Sequence::Options{SequenceId{static_cast<std::int32_t>(id)}, static_cast<int>(choice),
                          waiting.need.output_limit},
        std::move(samplers[choice]));
    ++choice;
  }
  for (const auto& sequence : sequences_) {
    if (sequence != nullptr && &sequence->request() == &active) find_prefix(*sequence);
  }
}

std::vector<schedule::SequenceView> Engine::views() const {
  std::vector<schedule::SequenceView> views;
  for (const auto& sequence : sequences_) {
    if (sequence == nullptr || sequence->request().is_aside) continue;
    views.push_back(sequence->view());
  }
  return views;
}

void Engine::enter_call(std::span<const BatchPart> parts) {
  const TimePoint now = clock_.now();
  for (const auto& request : running_) {
    Stage stage = stage_between_calls(*request);
    for (const BatchPart& part : parts) {
      // Decode rows come first in a batch, so the first part of a request is the one that counts.
      if (&find(part.sequence)->request() != request.get()) continue;
      stage = stage_of(part.phase);
      break;
    }
    request->in_flight->trace.enter(stage, now);
  }
}

/// Where a request is that has no part in a call.
Stage Engine::stage_between_calls(const ActiveRequest& request) const {
  for (const auto& sequence : sequences_) {
    if (sequence == nullptr || &sequence->request() != &request) continue;
    if (sequence->view().phase != schedule::Phase::kAwaitFeatures) return Stage::kScheduleWait;
  }
  const auto& arriving = request.in_flight->arriving;
  return arriving != nullptr && arriving->is_encoding() ? Stage::kEncode : Stage::kEncodeWait;
}

void Engine::commit(const Batch& batch, std::vector<Result<runtime::SampledToken>> sampled) {
  const TimePoint now = clock_.now();
  for (const BatchPart& part : batch.parts) {
    Sequence& sequence = *find(part.sequence);
    sequence.advance(part.n_rows);
    if (part.phase == schedule::Phase::kPrefillVisual) free_features(sequence.request());
  }
  auto next = sampled.begin();
  for (const BatchPart& part : batch.parts) {
    if (!part.samples) continue;
    Result<runtime::SampledToken>& token = *next++;
    Sequence* sequence = find(part.sequence);
    if (sequence == nullptr) continue;  // the sampler of another choice failed
    if (token) {
      commit_token(*sequence, std::move(*token), now);
    } else {
      end_request(sequence->request(), std::move(token).error());
    }
  }
}

void Engine::commit_token(Sequence& sequence, runtime::SampledToken token, TimePoint now) {
  ActiveRequest& request = sequence.request();
  InFlight& in_flight = *request.in_flight;
  in_flight.trace.enter(Stage::kDecode, now);
  in_flight.trace.mark_first_token(now);
  ++in_flight.trace.counts.n_output_tokens;
  std::string piece = token.ends_generation ? std::string() : model_->piece(token.token);
  if (sequence.n_output_tokens() == 0 && sequence.choice() == 0 && request.key.shares) {
    prefixes_.keep(request.key, sequence.id());
  }
  const auto finish = sequence.take(token, piece);
  if (!token.ends_generation) {
    in_flight.push(TokenDelta{sequence.choice(), token.token, std::move(piece), token.logprob,
                              std::move(token.top_logprobs)});
  }
  if (!finish) return;
  in_flight.push(ChoiceEnd{sequence.choice(), *finish, sequence.n_output_tokens()});
  remove(sequence.id());
  if (--request.n_open == 0) end_request(request, std::nullopt);
}

void Engine::recover(DecodeStatus status, std::span<const BatchPart> parts) {
  if (status == DecodeStatus::kLost) return;  // the next step finds out
  if (status == DecodeStatus::kNoKvSlot && prefixes_.n_prompts() > 0) {
    prefixes_.shrink_to(0);
    return;
  }
  if (status == DecodeStatus::kNoKvSlot) {
    // Nothing was computed: with the newest request's cells free, the next step plans again.
    const auto newest = std::find_if(running_.rbegin(), running_.rend(),
                                     [](const auto& request) { return !request->is_aside; });
    end_request(**newest, kv_cache_full());
    return;
  }
  if (status == DecodeStatus::kInvalidBatch) count_bug();
  const TimePoint now = clock_.now();
  for (const BatchPart& part : parts) {
    Sequence* sequence = find(part.sequence);
    if (sequence == nullptr) continue;  // ended with another part of its request
    ActiveRequest& request = sequence->request();
    auto error = request.in_flight->should_stop(now);
    if (!error) {
      error = make_error(ErrorCode::kInternal, "model_failed", "the model failed on this request");
    }
    end_request(request, std::move(error));
  }
}

void Engine::report(const StepReport& step) {
  const bool ran = step.n_rows() > 0;
  if (ran) ++n_steps_;
  if (running_.empty() && executor_->n_kv_cells_used() != prefixes_.n_cells()) {
    count_bug();
    prefixes_.shrink_to(0);
    for (int id = 0; id < executor_->n_sequences_max(); ++id) executor_->remove(SequenceId{id});
  }
  if (observer_ != nullptr && ran) observer_->on_step(step);
}

void Engine::remove(SequenceId id) {
  abandon_followers(id);
  executor_->remove(id);
  sequences_[static_cast<std::size_t>(id.value)].reset();
}

void Engine::end_request(ActiveRequest& request, std::optional<Error> error) {
  for (const auto& sequence : sequences_) {
    if (sequence != nullptr && &sequence->request() == &request) remove(sequence->id());
  }
  request.in_flight->end(std::move(error), clock_.now());
  std::erase_if(running_, [&](const auto& candidate) { return candidate.get() == &request; });
}

void Engine::end_all(const Error& error) {
  while (!running_.empty()) end_request(*running_.back(), error);
  for (WaitingRequest& waiting : waiting_) waiting.in_flight->end(error, clock_.now());
  waiting_.clear();
}

EngineStats Engine::stats() const {
  EngineStats stats;
  stats.load.n_running_sequences =
      static_cast<int>(std::count_if(sequences_.begin(), sequences_.end(),
                                     [](const auto& sequence) { return sequence != nullptr; }));
  stats.load.n_waiting_requests = waiting_.size();
  stats.load.n_kv_cells_kept = prefixes_.n_cells();
  stats.load.n_kv_cells_used = executor_->n_kv_cells_used() - prefixes_.n_cells();
  stats.load.n_kv_cells = executor_->n_kv_cells();
  stats.load.n_set_aside =
      static_cast<int>(std::ranges::count_if(running_, &ActiveRequest::is_aside));
  stats.n_steps = n_steps_;
  stats.n_bugs = n_bugs_;
  return stats;
}

// Not TSR_BUG: these come from the runtime, and its faults must not abort a debug build's tests.
void Engine::count_bug() {
  ++n_bugs_;
}

}  // namespace tessera::generate
