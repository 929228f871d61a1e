#include "simulate/simulation.h"

#include <algorithm>

#include "core/check.h"
#include "simulate/by_count.h"
#include "simulate/by_tokens.h"
#include "simulate/machine.h"

namespace tessera::simulate {

double call_seconds(const Machine& machine, int n_rows, int n_cells) {
  const double rows = n_rows;
  return machine.call_seconds + machine.row_seconds * rows +
         machine.row_cell_seconds * rows * static_cast<double>(n_cells);
}

int n_prompt_tokens(const SimulatedRequest& request) {
  return request.n_tiles * kTileTokens + request.n_text_tokens;
}

void Clocked::token(const SimulatedRequest& request, double now, SimulationResult& result) {
  KindResult& kind = result.kinds[static_cast<std::size_t>(request.kind)];
  if (n_tokens_++ == 0) {
    kind.first_token.add(now - request.arrival);
  } else {
    kind.inter_token.add(now - last_);
    result.inter_token.add(now - last_);
  }
  last_ = now;
  if (n_tokens_ < request.n_output_tokens) return;
  ++kind.n_ended;
  kind.total.add(now - request.arrival);
}

SimulationResult simulate(std::span<const SimulatedRequest> requests,
                          const SimulationOptions& options) {
  for (const SimulatedRequest& request : requests) {
    TSR_CHECK(n_prompt_tokens(request) + request.n_output_tokens <= options.machine.n_kv_cells);
  }
  if (options.policy == Policy::kByCount) return simulate_by_count(requests, options);
  return ByTokens(requests, options).run();
}

}  // namespace tessera::simulate
