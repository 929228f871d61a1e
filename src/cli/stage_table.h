// A finished request's stages, for people and for programs. Pure; any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "core/trace.h"

namespace tessera::cli {

/// Time and share of each stage with a bar, the total, what was counted, and rates. UTF-8, at most
/// 78 columns, no colour; a stage that took no time shows "-".
/// @param trace  finished
std::string stage_table(const Trace& trace);

/// The same in the shape of the HTTP API's `tessera` object.
/// @param trace  finished
nlohmann::ordered_json stage_json(const Trace& trace);

/// Of both: an array with an object for each image.
nlohmann::ordered_json images_json(std::span<const ImagePlan> images);

/// OpenAI's `usage` object.
nlohmann::ordered_json usage_json(const TraceCounts& counts);

}  // namespace tessera::cli
