// What a request will take from the engine, and whether it can ever have it.
#pragma once

#include "core/in_flight.h"
#include "core/result.h"
#include "generate/engine_options.h"
#include "runtime/runtime.h"
#include "schedule/plan_admission.h"

namespace tessera::generate {

struct RequestNeed {
  int output_limit = 0;  // tokens, per choice
  schedule::Need total;
};

/// What the engine has for all requests together.
struct EngineSize {
  int n_sequences = 0;
  int n_kv_cells = 0;
  int n_rows_max = 0;  // of one model call
};

/// @errors  too_large (more than the engine has in all: context_length_exceeded,
///          too_many_choices, image_tokens_exceeded); internal (prompt_invalid: segments and
///          embeddings that do not belong together, a bug of an earlier stage)
Result<RequestNeed> need_of(const InFlight& request, const runtime::ModelInfo& info,
                            const EngineSize& engine, const EngineOptions& options);

}  // namespace tessera::generate
