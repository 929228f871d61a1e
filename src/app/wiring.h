// From settings to a running pipeline: the one place that knows which runtime was built in.
#pragma once

#include <memory>
#include <optional>

#include "admission/api_keys.h"
#include "cache/disk_tier.h"
#include "cache/weights_file.h"
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

/// Starts the process that runs the model, tessera-engine beside this program; the model keeps it.
/// @param metrics  outlives the model
/// @errors         those of EngineProcess::start()
Result<runtime::LoadedModel> load_model(const cli::Settings& settings, metrics::Metrics& metrics);

/// The disk tier of the feature cache, and what computes the features that it keeps.
struct FeatureDisk {
  std::unique_ptr<cache::DiskTier> tier;  // null = there is none
  std::string encoder;
};

/// The file that an opening disk tier has to know by its content; nothing when there is no such
/// tier, or no encoder. Before the model is loaded: FeatureDisk is about the same file.
/// @errors  not_found (`weights_unreadable`)
Result<std::optional<cache::WeightsFile>> open_weights(const cli::Settings& settings);

/// After the model was loaded.
/// @param build   LoadedModel::build
/// @errors  those of DiskTier::open() and WeightsFile::digest()
Result<FeatureDisk> open_feature_disk(const cli::Settings& settings,
                                      const std::optional<cache::WeightsFile>& weights,
                                      const admission::ApiKeys& keys, std::string_view build);

/// Starts every stage.
/// @param decoders, sources, disk  outlive the pipeline
/// @param keys                     whose tenants an operator may name
std::unique_ptr<pipeline::Pipeline> start_pipeline(
    const cli::Settings& settings, runtime::LoadedModel model,
    const media::DecoderZygotes& decoders, const MediaSources& sources, const FeatureDisk& disk,
    const admission::ApiKeys& keys, const Clock& clock, metrics::Metrics& metrics);

metrics::BuildInfo build_info();

/// `tessera version`; with `json` one object.
std::string version_text(bool json);

}  // namespace tessera::app
