// How long the rest of a request would take on an idle server, by the rates of those before it.
// A pure function of its arguments.
#pragma once

#include <optional>
#include <span>

#include "core/prompt.h"
#include "core/result.h"
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

/// An estimate has to exceed the time that is left by this much before it counts: a rate that was
/// measured beside other work is up to twice what an idle server needs.
inline constexpr double kEstimateDoubt = 2;

/// Whether media and encoding alone would take longer than is left. Prefill does not count, for a
/// prompt like one that was asked before costs none.
/// @errors  deadline_exceeded (deadline_unreachable)
Result<void> check_deadline(const WorkEstimate& estimate, Duration left);

}  // namespace tessera::pipeline
