// What both policies share: how long a call takes, and when a request's tokens came.
// @thread one
#pragma once

#include "simulate/simulation.h"

namespace tessera::simulate {

/// While nothing else runs.
double call_seconds(const Machine& machine, int n_rows, int n_cells);

int n_prompt_tokens(const SimulatedRequest& request);

/// The output of one request.
class Clocked {
 public:
  /// A token came, and with the last one the end.
  void token(const SimulatedRequest& request, double now, SimulationResult& result);

  int n_tokens() const { return n_tokens_; }

 private:
  int n_tokens_ = 0;
  double last_ = 0;
};

}  // namespace tessera::simulate
