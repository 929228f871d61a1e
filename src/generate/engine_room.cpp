// The engine and a KV cache that is full: who is set aside, and who comes back.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "generate/engine.h"
#include "schedule/plan_preemption.h"

namespace tessera::generate {
namespace {

/// How soon a request that lost its KV cells may come back: the time of a short answer.
constexpr std::chrono::seconds kRetryAfter{1};

}  // namespace

Error Engine::kv_cache_full() const {
  Error error = make_error(
      ErrorCode::kResourceExhausted, "kv_cache_full",
      "all " + std::to_string(executor_->n_kv_cells()) + " cells of the KV cache are in use");
  error.retry_after = kRetryAfter;
  return error;
}

std::vector<Sequence*> Engine::sequences_of(const ActiveRequest& request) const {
  std::vector<Sequence*> sequences;
  for (const auto& sequence : sequences_) {
    if (sequence != nullptr && &sequence->request() == &request)
      sequences.push_back(sequence.get());
  }
  return sequences;
}

bool Engine::make_room(const schedule::StepPlan& plan) {
  if (executor_->n_kv_cells_used() + plan.n_rows() <= executor_->n_kv_cells()) return false;
  if (prefixes_.n_prompts() > 0) {
    prefixes_.drop_oldest();
    return true;
  }
  std::vector<ActiveRequest*> active;
  std::vector<schedule::Begun> begun;
  for (const auto& request : running_) {
    if (request->is_aside) continue;
    active.push_back(request.get());
    begun.push_back({request->in_flight->tenant, request->arrival});
    for (const Sequence* sequence : sequences_of(*request)) {
      begun.back().n_kv_cells += sequence->n_cells();
    }
  }
  const auto chosen = schedule::who_gives_way(begun);
  // One alone has room by its need. When the executor is lost, the next step finds out.
  if (!chosen || executor_->availability() != runtime::Availability::kReady) return false;
  set_aside(*active[*chosen]);
  return true;
}

void Engine::set_aside(ActiveRequest& request) {
  const std::vector<Sequence*> sequences = sequences_of(request);
  int n_prompt = 0;  // computed once for all choices
  int n_output = 0;
  int n_cells = 0;
  for (const Sequence* sequence : sequences) {
    n_prompt = std::max(n_prompt, sequence->n_prompt_done());
    n_output += sequence->n_cells() - sequence->n_prompt_done();
    n_cells += sequence->n_cells();
  }
  const bool can_rewind =
      std::ranges::all_of(sequences, [](const Sequence* one) { return one->can_rewind(); });
  std::optional<double> copy;
  std::optional<double> compute;
  if (copy_cost_.n_cells > 0) {
    copy = 2 * copy_cost_.seconds / static_cast<double>(copy_cost_.n_cells) * n_cells;
  }
  if (can_rewind) compute = costs_.first.seconds(n_prompt + n_output, executor_->n_kv_cells());

  // Whoever waits for the beginning of its prompt is younger and of its tenant, and so aside
  // already.
  request.is_aside = true;
  if (schedule::is_copied(copy, compute) && copy_aside(request)) {
    report_set_aside(/*copied=*/true);
  } else if (can_rewind) {
    drop_aside(request);
    report_set_aside(/*copied=*/false);
  } else if (executor_->availability() == runtime::Availability::kReady) {
    end_request(request, kv_cache_full());
  }
}

/// @return  whether all of it could be copied
bool Engine::copy_aside(ActiveRequest& request) {
  const TimePoint begin = clock_.now();
  for (Sequence* sequence : sequences_of(request)) {
    if (sequence->n_cells() == 0) {
      sequence->rewind();
      continue;
    }
    if (!executor_->set_aside(sequence->id())) return false;
    sequence->set_copied(true);
    copy_cost_.n_cells += sequence->n_cells();
  }
  copy_cost_.seconds += to_seconds(clock_.now() - begin);
  return true;
}

void Engine::report_set_aside(bool copied) {
  if (observer_ != nullptr) observer_->on_set_aside(copied);
}

void Engine::drop_aside(ActiveRequest& request) {
  for (Sequence* sequence : sequences_of(request)) {
    executor_->remove(sequence->id());
    sequence->set_copied(false);
    sequence->rewind();
  }
}

/// Oldest first.
void Engine::bring_back() {
  if (std::ranges::none_of(running_, &ActiveRequest::is_aside)) return;
  const auto soon = [this](const ActiveRequest& request) {
    schedule::Begun begun{request.in_flight->tenant, request.arrival};
    for (const Sequence* sequence : sequences_of(request)) {
      begun.n_kv_cells += sequence->need().n_kv_cells;
    }
    return begun;
  };
  std::vector<schedule::Begun> active;
  std::int64_t n_free = executor_->n_kv_cells();
  for (const auto& request : running_) {
    if (request->is_aside) continue;
    active.push_back(soon(*request));
    n_free -= active.back().n_kv_cells;
  }
  for (std::size_t i = 0; i < running_.size(); ++i) {
    ActiveRequest& request = *running_[i];
    if (!request.is_aside) continue;
    const schedule::Begun next = soon(request);
    if (!schedule::can_come_back(active, next, executor_->n_kv_cells())) return;
    n_free -= next.n_kv_cells;
    prefixes_.shrink_to(static_cast<int>(n_free));
    active.push_back(next);
    request.is_aside = false;
    bool is_back = true;
    for (Sequence* sequence : sequences_of(request)) {
      if (!sequence->is_copied()) continue;
      sequence->set_copied(false);
      is_back = is_back && executor_->bring_back(sequence->id());
    }
    // Those of a lost executor stay until the next step finds out.
    if (is_back || executor_->availability() != runtime::Availability::kReady) continue;
    end_request(request, kv_cache_full());
    --i;
  }
}

}  // namespace tessera::generate
