// From settings to a running pipeline: the one place that knows which runtime was built in.
#pragma once

#include <memory>

#include "cli/command_line.h"
#include "cli/settings.h"
#include "core/clock.h"
#include "metrics/metrics.h"
#include "pipeline/pipeline.h"
#include "sandbox/zygote.h"

namespace tessera::app {

/// Flags, environment, file and defaults, for any command.
/// @errors  invalid_argument
Result<cli::LoadedSettings> read_settings(const cli::SettingFlags& flags);

/// Starts the zygote of the image decoders. Before the model is loaded: it shares no page with it.
/// @errors  not_found (no media worker beside the program); those of Zygote::start
Result<std::unique_ptr<sandbox::Zygote>> start_media_worker(const cli::Settings& settings,
                                                            const Clock& clock,
                                                            metrics::Metrics& metrics);

/// Loads the model and starts every stage.
/// @param media_worker  outlives the pipeline
/// @errors  those of runtime load
Result<std::unique_ptr<pipeline::Pipeline>> start_pipeline(const cli::Settings& settings,
                                                           sandbox::Zygote& media_worker,
                                                           const Clock& clock,
                                                           metrics::Metrics& metrics);

metrics::BuildInfo build_info();

/// `tessera version`; with `json` one object.
std::string version_text(bool json);

}  // namespace tessera::app
