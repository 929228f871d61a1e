#include "core/in_flight.h"

#include <chrono>
#include <string>
#include <utility>

#include "core/check.h"

namespace tessera {
namespace {

std::string milliseconds_text(Duration duration) {
  const auto n = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return std::to_string(n) + " ms";
}

}  // namespace

InFlight::~InFlight() {
  if (ended_) return;
  end(make_error(ErrorCode::kInternal, "internal_error", "the request was dropped"),
      trace.arrival() + trace.total());
  TSR_BUG("a request was destroyed before its terminal event");
}

std::optional<Error> InFlight::should_stop(TimePoint now, Duration at_least) const {
  if (stop.stop_requested()) {
    return make_error(ErrorCode::kCancelled, "cancelled", "the request was cancelled");
  }
  if (now >= deadline) {
    return make_error(ErrorCode::kDeadlineExceeded, "deadline_exceeded",
                      "the request did not finish within its time limit");
  }
  // Not now + at_least, which could be more than there is.
  if (at_least > deadline - now) {
    return make_error(ErrorCode::kDeadlineExceeded, "deadline_too_short",
                      "what is left to compute takes " + milliseconds_text(at_least) +
                          " here at the very least, and its time limit is in " +
                          milliseconds_text(deadline - now));
  }
  return std::nullopt;
}

void InFlight::push(StreamEvent event) {
  if (redo_) {
    redo_ = nullptr;
    release_media();
  }
  sink_->push(std::move(event));
}

void InFlight::release_media() {
  fetch_holds.reset();
  if (redo_) return;
  request.media.clear();
  media_holds.reset();
}

void InFlight::end(std::optional<Error> error, TimePoint now) {
  if (error && is_engine_lost(*error) && redo_) {
    start_again();
    return;
  }
  send_end({std::move(error), trace}, now);
}

/// As a new one, for who holds this one is about to let it go.
void InFlight::start_again() {
  TSR_CHECK(!ended_);
  ended_ = true;
  if (arriving != nullptr) arriving->abandon();
  tile_holds.reset();
  feature_holds.reset();
  trace.counts = {};
  trace.images.clear();
  auto again = std::make_unique<InFlight>(id, tenant, std::move(request), limits, std::move(trace),
                                          deadline, stop, std::move(sink_));
  if (!asked_messages.empty()) again->request.messages = std::move(asked_messages);
  again->holds = std::move(holds);
  again->media_holds = std::move(media_holds);
  std::exchange(redo_, nullptr)(std::move(again));
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
  fetch_holds.reset();
  media_holds.reset();
  tile_holds.reset();
  feature_holds.reset();
  if (arriving != nullptr) arriving->abandon();
  sink_->push(std::move(end));
}

}  // namespace tessera
