// How long the rest of a request would take on an idle server, by the rates of those before it.
// A pure function of its arguments.
#pragma once

#include <optional>
#include <span>

#include "core/prompt.h"
#include "pipeline/work_rates.h"

namespace tessera::pipeline {

/// In seconds; nothing before the first measurement, zero where nothing is to be done.
struct WorkEstimate {
  std::optional<double> media_decode;
  std::optional<double> encode;
  std::optional<double> prefill;  // as if no KV cells of its prompt were kept
};

/// @param images  with what is cached of each
WorkEstimate estimate_work(std::span<const ImagePlan> images, int n_prompt_tokens,
                           const WorkRates& rates);

}  // namespace tessera::pipeline
