#include "simulate/by_tokens.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "core/check.h"

namespace tessera::simulate {

using schedule::Phase;
using schedule::SequenceView;
using schedule::StepPlan;

namespace {

schedule::Need need_of(const SimulatedRequest& request, int n_output) {
  const int n_prompt = n_prompt_tokens(request);
  return {1, schedule::n_cells_soon(n_prompt, n_output, request.n_output_tokens),
          n_prompt + request.n_output_tokens};
}

}  // namespace

ByTokens::ByTokens(std::span<const SimulatedRequest> requests, const SimulationOptions& options)
    : requests_(requests),
      options_(options),
      running_(static_cast<std::size_t>(options.machine.n_sequences)) {
  for (const SimulatedRequest& request : requests) n_to_encode_.push_back(request.n_missing);
}

SimulationResult ByTokens::run() {
  while (n_ended_ < requests_.size()) {
    take_arrivals();
    encode_until_now();
    bring_back();
    start_waiting();
    schedule::StepBudget budget;
    const StepPlan plan = this->plan(budget);
    if (plan.empty()) {
      skip_to_next_event();
      continue;
    }
    count_passed_over(views(), plan);
    step(plan, budget);
  }
  result_.seconds = now_;
  if (n_expected_ > 0) result_.cost_error = cost_errors_ / static_cast<double>(n_expected_);
  return result_;
}

void ByTokens::take_arrivals() {
  while (n_arrived_ < requests_.size() && requests_[n_arrived_].arrival <= now_) {
    const std::size_t index = n_arrived_++;
    if (index - n_ended_ >= options_.n_requests_max) {
      ++result_.n_refused;
      ++n_ended_;
    } else if (n_to_encode_[index] > 0) {
      encoding_.push_back(index);  // it goes on when its first missing tile is there
    } else {
      waiting_.push_back(index);
    }
  }
}

void ByTokens::encode_until_now() {
  while (true) {
    if (encodes_) {
      if (tile_end_ > now_) return;
      const std::size_t index = *encodes_;
      encodes_.reset();
      if (n_to_encode_[index] == requests_[index].n_missing) waiting_.push_back(index);
      if (--n_to_encode_[index] == 0) std::erase(encoding_, index);
    }
    if (encoding_.empty()) return;
    // Little work first, and nobody for ever: a request that comes later than another would have
    // ended alone is behind it.
    const auto rank = [this](std::size_t index) {
      return requests_[index].arrival + options_.machine.tile_seconds * n_to_encode_[index];
    };
    encodes_ = *std::ranges::min_element(encoding_, {}, rank);
    const double begin = std::max(tile_end_, requests_[*encodes_].arrival);
    tile_end_ =
        begin + options_.machine.tile_seconds * (anybody_runs() ? options_.machine.shared : 1);
  }
}

void ByTokens::start_waiting() {
  if (waiting_.empty()) return;
  const bool is_full =
      std::ranges::all_of(running_, [](const auto& one) { return one.has_value(); });
  if (is_full) return;
  std::map<TenantId, schedule::Need> held;
  for (const auto& running : running_) {
    if (!running) continue;
    held.try_emplace(running->request->tenant, schedule::Need{0})
        .first->second.add(need_of(*running->request, running->output.n_tokens()));
  }
  const schedule::Room room{
      schedule::total_of(static_cast<int>(running_.size()), options_.machine.n_kv_cells)};
  std::vector<schedule::WaitingNeed> waiting;
  for (const std::size_t index : waiting_) {
    waiting.push_back({requests_[index].tenant, need_of(requests_[index], 0)});
  }
  std::vector<std::size_t> order = schedule::plan_admission(waiting, room, std::move(held), turns_);
  std::size_t id = 0;
  for (const std::size_t i : order) {
    while (running_[id]) ++id;
    const SimulatedRequest& request = requests_[waiting_[i]];
    running_[id] = Running{&request, waiting_[i], n_started_++, 0, {}, 0, n_rows_ahead(request)};
  }
  std::ranges::sort(order, std::greater());
  for (const std::size_t i : order) waiting_.erase(waiting_.begin() + static_cast<long>(i));
}

/// As Engine does. A copy takes its time each way.
void ByTokens::bring_back() {
  const auto soon = [](const Running& running) {
    const schedule::Need need = need_of(*running.request, running.output.n_tokens());
    return schedule::Begun{running.request->tenant, running.arrival, need.n_kv_cells};
  };
  std::vector<schedule::Begun> active;
  std::vector<Running*> aside;
  for (auto& running : running_) {
    if (!running) continue;
    if (running->is_aside) {
      aside.push_back(&*running);
    } else {
      active.push_back(soon(*running));
    }
  }
  std::ranges::sort(aside, {}, &Running::arrival);
  for (Running* running : aside) {
    if (!schedule::can_come_back(active, soon(*running), options_.machine.n_kv_cells)) return;
    active.push_back(soon(*running));
    running->is_aside = false;
    now_ += options_.machine.cell_copy_seconds * running->n_cells();
  }
}

StepPlan ByTokens::plan(schedule::StepBudget& budget) {
  while (true) {
    const std::vector<SequenceView> sequences = views();
    budget =
        schedule::step_budget(sequences, costs_, n_cells(), options_.inter_token, options_.ceiling);
    StepPlan plan = schedule::plan_step(sequences, budget, result_.n_steps);
    if (!make_room(plan)) return plan;
  }
}

bool ByTokens::make_room(const StepPlan& plan) {
  if (n_cells() + plan.n_rows() <= options_.machine.n_kv_cells) return false;
  std::vector<Running*> active;
  std::vector<schedule::Begun> begun;
  for (auto& running : running_) {
    if (!running || running->is_aside) continue;
    active.push_back(&*running);
    begun.push_back({running->request->tenant, running->arrival, running->n_cells()});
  }
  const auto chosen = schedule::who_gives_way(begun);
  TSR_CHECK(chosen.has_value());  // else one that fits does not
  active[*chosen]->is_aside = true;
  now_ += options_.machine.cell_copy_seconds * active[*chosen]->n_cells();
  ++result_.n_set_aside;
  return true;
}

void ByTokens::skip_to_next_event() {
  double next = std::numeric_limits<double>::infinity();
  if (n_arrived_ < requests_.size()) next = requests_[n_arrived_].arrival;
  if (encodes_) next = std::min(next, tile_end_);
  TSR_CHECK(std::isfinite(next));  // else somebody waits for nothing
  now_ = std::max(now_, next);
}

void ByTokens::step(const StepPlan& plan, const schedule::StepBudget& budget) {
  ++result_.n_steps;
  call(plan.first, costs_.first, budget.n_rows);
  call(plan.second, costs_.second, budget.n_visual_rows);
}

void ByTokens::call(const schedule::CallPlan& plan, schedule::CallCost& cost, int n_rows_max) {
  if (plan.empty()) return;
  const int n_rows = plan.n_rows();
  TSR_CHECK(n_rows <= n_rows_max);
  now_ += measure(cost, n_rows);
  for (const schedule::Slice& slice : plan.prefill) prefill(slice);
  for (const SequenceId id : plan.decode) emit(id);
}

double ByTokens::measure(schedule::CallCost& cost, int n_rows) {
  const int n_cells = this->n_cells();
  const double seconds =
      call_seconds(options_.machine, n_rows, n_cells) * (encodes_ ? options_.machine.shared : 1);
  if (const auto expected = cost.seconds(n_rows, n_cells)) {
    cost_errors_ += std::abs(*expected - seconds) / seconds;
    ++n_expected_;
  }
  cost.record(n_rows, n_cells, seconds);
  return seconds;
}

void ByTokens::prefill(const schedule::Slice& slice) {
  Running& running = *running_[static_cast<std::size_t>(slice.sequence.value)];
  running.n_prompt_done += slice.n_rows;
  if (running.decodes()) emit(slice.sequence);
}

void ByTokens::emit(SequenceId id) {
  auto& running = running_[static_cast<std::size_t>(id.value)];
  running->output.token(*running->request, now_, result_);
  if (running->output.n_tokens() < running->request->n_output_tokens) return;
  running.reset();
  ++n_ended_;
}

void ByTokens::count_passed_over(const std::vector<SequenceView>& views, const StepPlan& plan) {
  const auto has_part = [&](SequenceId id) {
    const auto is_its = [id](const schedule::Slice& slice) { return slice.sequence == id; };
    return std::ranges::any_of(plan.first.prefill, is_its) ||
           std::ranges::any_of(plan.second.prefill, is_its);
  };
  for (const SequenceView& view : views) {
    const bool prefills = view.phase == Phase::kPrefillText || view.phase == Phase::kPrefillVisual;
    if (!prefills || has_part(view.id)) continue;
    Running& running = *running_[static_cast<std::size_t>(view.id.value)];
    ++running.n_passed_over;
    result_.passed_over_per_row_max =
        std::max(result_.passed_over_per_row_max,
                 static_cast<double>(running.n_passed_over) / running.n_rows_ahead);
  }
}

int ByTokens::n_rows_ahead(const SimulatedRequest& request) const {
  int n_rows = n_prompt_tokens(request);
  for (const auto& running : running_) {
    if (running) n_rows += n_prompt_tokens(*running->request) - running->n_prompt_done;
  }
  return n_rows;
}

std::vector<SequenceView> ByTokens::views() const {
  std::vector<SequenceView> views;
  for (std::size_t id = 0; id < running_.size(); ++id) {
    if (running_[id] && !running_[id]->is_aside) views.push_back(view(id, *running_[id]));
  }
  return views;
}

/// A prompt is its tiles, those that were known first, and then its text.
SequenceView ByTokens::view(std::size_t id, const Running& running) const {
  SequenceView view;
  view.id = SequenceId{static_cast<std::int32_t>(id)};
  view.arrival = running.arrival;
  view.tenant = running.request->tenant;
  view.n_prompt_left = n_prompt_tokens(*running.request) - running.n_prompt_done;
  const int n_visual = running.request->n_tiles * kTileTokens;
  const int n_encoded = n_visual - n_to_encode_[running.index] * kTileTokens;
  if (running.decodes()) {
    view.phase = Phase::kDecode;
  } else if (running.n_prompt_done >= n_visual) {
    view.phase = Phase::kPrefillText;
    view.n_left = view.n_prompt_left;
  } else if (running.n_prompt_done < n_encoded) {
    view.phase = Phase::kPrefillVisual;
    view.n_left = kTileTokens - running.n_prompt_done % kTileTokens;
  } else {
    view.phase = Phase::kAwaitFeatures;
  }
  return view;
}

int ByTokens::n_cells() const {
  int n = 0;
  for (const auto& running : running_) n += running && !running->is_aside ? running->n_cells() : 0;
  return n;
}

bool ByTokens::anybody_runs() const {
  return std::ranges::any_of(running_, [](const auto& running) { return running.has_value(); });
}

}  // namespace tessera::simulate
