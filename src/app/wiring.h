// From settings to a running pipeline: the one place that knows which runtime was built in.
#pragma once

#include <memory>
#include <optional>

#include "cli/command_line.h"
#include "cli/settings.h"
#include "core/clock.h"
#include "fetch/fetcher.h"
#include "fetch/media_root.h"
#include "metrics/metrics.h"
#include "pipeline/pipeline.h"
#include "sandbox/zygote.h"
#include "uploads/upload_store.h"

namespace tessera::app {

/// Flags, environment, file and defaults, for any command.
/// @errors  invalid_argument
Result<cli::LoadedSettings> read_settings(const cli::SettingFlags& flags);

/// What media that a request names by URL comes from; what the settings do not allow is empty.
struct MediaSources {
  std::unique_ptr<fetch::Fetcher> fetcher;
  std::optional<fetch::MediaRoot> root;
  std::unique_ptr<uploads::UploadStore> uploads;
};

/// Starts the fetcher, if any. Before the model is loaded: the process shares no page with it.
/// @param clock, metrics  outlive the result
/// @errors  invalid_argument (`remote_domain_invalid`, `fetcher_not_found`); not_found
///          (`media_root_not_found`); unavailable
Result<MediaSources> open_media_sources(const cli::Settings& settings, const Clock& clock,
                                        metrics::Metrics& metrics);

/// @errors  those of runtime load
Result<runtime::LoadedModel> load_model(const cli::Settings& settings);

/// Starts every stage.
/// @param decoders, sources  outlive the pipeline
std::unique_ptr<pipeline::Pipeline> start_pipeline(const cli::Settings& settings,
                                                   runtime::LoadedModel model,
                                                   const media::DecoderZygotes& decoders,
                                                   const MediaSources& sources, const Clock& clock,
                                                   metrics::Metrics& metrics);

metrics::BuildInfo build_info();

/// `tessera version`; with `json` one object.
std::string version_text(bool json);

}  // namespace tessera::app
