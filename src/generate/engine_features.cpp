// The engine and features that arrive while their request runs.
#include <algorithm>
#include <utility>

#include "generate/engine.h"

namespace tessera::generate {

/// Features that have arrived since the last step.
void Engine::take_features() {
  const auto take = [](InFlight& request) -> std::optional<Error> {
    if (request.arriving == nullptr) return std::nullopt;
    auto error = request.arriving->take(request.embeddings);
    const bool is_complete =
        std::ranges::find(request.embeddings, nullptr) == request.embeddings.end();
    if (is_complete) request.arriving.reset();
    return error;
  };
  for (std::size_t i = running_.size(); i-- > 0;) {
    if (auto error = take(*running_[i]->in_flight)) end_request(*running_[i], std::move(error));
  }
  std::erase_if(waiting_, [&](WaitingRequest& waiting) {
    auto error = take(*waiting.in_flight);
    if (!error) return false;
    waiting.in_flight->end(std::move(error), clock_.now());
    return true;
  });
}

/// Once they are in the KV cache of every choice.
void Engine::free_features(ActiveRequest& request) {
  for (const auto& sequence : sequences_) {
    if (sequence != nullptr && &sequence->request() == &request && sequence->needs_features()) {
      return;
    }
  }
  InFlight& in_flight = *request.in_flight;
  in_flight.embeddings.clear();
  in_flight.feature_holds.reset();
  if (in_flight.arriving != nullptr) in_flight.arriving->abandon();
  in_flight.arriving.reset();
}

}  // namespace tessera::generate
