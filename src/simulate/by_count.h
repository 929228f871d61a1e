// The policy to compare with: so many requests at a time, whatever they are (simulation.h).
// @thread any; a pure function of its arguments
#pragma once

#include "simulate/simulation.h"

namespace tessera::simulate {

SimulationResult simulate_by_count(std::span<const SimulatedRequest> requests,
                                   const SimulationOptions& options);

}  // namespace tessera::simulate
