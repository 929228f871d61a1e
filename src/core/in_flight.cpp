#include "core/in_flight.h"

#include <utility>

#include "core/check.h"

namespace tessera {

InFlight::~InFlight() {
  if (ended_) return;
  end(make_error(ErrorCode::kInternal, "internal_error", "the request was dropped"),
      trace.arrival() + trace.total());
  TSR_BUG("a request was destroyed before its terminal event");
}

std::optional<Error> InFlight::should_stop(TimePoint now) const {
  if (stop.stop_requested()) {
    return make_error(ErrorCode::kCancelled, "cancelled", "the request was cancelled");
  }
  if (now >= deadline) {
    return make_error(ErrorCode::kDeadlineExceeded, "deadline_exceeded",
                      "the request did not finish within its time limit");
  }
  return std::nullopt;
}

void InFlight::end(std::optional<Error> error, TimePoint now) {
  send_end({std::move(error), trace}, now);
}

void InFlight::end_with(PlanReport plan, TimePoint now) {
  send_end({std::nullopt, trace, std::move(plan)}, now);
}

void InFlight::send_end(StreamEnd end, TimePoint now) {
  TSR_CHECK(!ended_);
  ended_ = true;
  trace.enter(Stage::kEmit, now);
  end.trace = trace;
  // Whoever sees the end may count on its places being free.
  holds.reset();
  tile_holds.reset();
  feature_holds.reset();
  if (arriving != nullptr) arriving->abandon();
  sink_->push(std::move(end));
}

}  // namespace tessera
