// Answers about plans, in JSON: those of a request's images, and POST /v1/visual/plan.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/json_writer.h"
#include "core/plan_report.h"

namespace tessera::api {

/// An array with an object for each image.
void write_images(JsonWriter& json, std::span<const ImagePlan> images);

/// The whole answer.
std::string visual_plan_json(std::string_view model_name, const PlanReport& plan);

}  // namespace tessera::api
