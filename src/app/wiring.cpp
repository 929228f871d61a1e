#include "app/wiring.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "app/program_folder.h"
#include "fetch/outcome_name.h"
#include "media/sniff.h"
#include "runtime/remote/remote_model.h"

namespace tessera::app {
namespace {

namespace fs = std::filesystem;

/// The bundled model: beside an installed program, else in the source tree it was built from.
cli::BundledModel bundled_model() {
  fs::path folder = program_folder() / ".." / "share" / "tessera" / "models" / "tessera-tiny";
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) folder = fs::path(TESSERA_MODELS_DIR) / "tessera-tiny";
  return {(folder / "tessera-tiny-f16.gguf").string(),
          (folder / "mmproj-tessera-tiny-f16.gguf").string()};
}

/// The commit of llama.cpp; empty when its source was no clone.
std::string runtime_name() {
#ifdef TESSERA_RUNTIME_LLAMA
  const std::string commit = TESSERA_LLAMA_COMMIT;
  return commit.empty() ? "llama" : "llama " + commit;
#else
  return "fake";
#endif
}

std::string engine_program() {
  return (program_folder() / "tessera-engine").string();
}

/// What the libraries in the engine process read: which devices there are, where libraries and
/// caches of theirs lie. Nothing of ours, which holds secrets.
std::vector<std::string> engine_environment() {
  constexpr std::array<std::string_view, 14> kPrefixes{
      "CUDA_",   "GGML_", "HIP_",  "HOME=",   "HSA_", "LD_LIBRARY_PATH=", "LLAMA_",
      "NVIDIA_", "OMP_",  "ROCR_", "TMPDIR=", "VK_",  "XDG_CACHE_HOME=",  "ZES_"};
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (std::ranges::any_of(kPrefixes, [&](auto prefix) { return text.starts_with(prefix); })) {
      kept.emplace_back(text);
    }
  }
  return kept;
}

/// The engine does not share our directory. An empty path stays empty.
std::string absolute_path(const std::string& path) {
  std::error_code failed;
  const fs::path absolute = path.empty() ? fs::path() : fs::absolute(path, failed);
  return failed ? path : absolute.string();
}

/// "a.example.com, b.example.com" → its parts without spaces around them.
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    part = part.substr(0, part.find_last_not_of(' ') + 1);
    parts.emplace_back(part);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

Result<std::unique_ptr<fetch::Fetcher>> start_fetcher(const cli::Settings& settings,
                                                      metrics::Metrics& metrics) {
  fetch::FetcherOptions options;
  options.dispatcher.fetcher_path = program_folder() / "tessera-fetcher";
  options.limits = settings.remote_limits;
  options.limits.item_bytes_max =
      std::min(options.limits.item_bytes_max, media_bytes_max(settings.limits));
  options.rules.urls.allow_http = settings.remote_media_http;
  options.rules.domains = fetch::DomainRules::public_internet();
  if (const auto domains = split_list(settings.remote_media_domains); !domains.empty()) {
    TSR_ASSIGN_OR_RETURN(options.rules.domains, fetch::DomainRules::only(domains));
  }
  options.is_media = [](std::span<const std::byte> head) {
    return media::decodable(media::sniff_format(head)).has_value();
  };
  options.on_outcome = [&metrics](fetch::wire::Outcome outcome) {
    metrics.record_media_fetch(fetch::outcome_name(outcome));
  };
  return fetch::Fetcher::create(std::move(options));
}

fetch::FetchSources sources_of(const MediaSources& sources) {
  fetch::FetchSources of;
  of.fetcher = sources.fetcher.get();
  of.root = sources.root ? &*sources.root : nullptr;
  if (sources.uploads != nullptr) {
    of.upload = [uploads = sources.uploads.get()](TenantId tenant, std::string_view id) {
      return uploads->get(tenant, id);
    };
  }
  return of;
}

}  // namespace

Result<cli::LoadedSettings> read_settings(const cli::SettingFlags& flags) {
  cli::SettingInputs inputs;
  inputs.flags = flags.values;
  inputs.environment = cli::tessera_environment(environ);
  inputs.bundled = bundled_model();
  TSR_ASSIGN_OR_RETURN(inputs.file, cli::read_config_file(flags.config_path, inputs.environment));
  return cli::load_settings(inputs);
}

Result<MediaSources> open_media_sources(const cli::Settings& settings, const Clock& clock,
                                        metrics::Metrics& metrics) {
  MediaSources sources;
  if (settings.allow_remote_media) {
    TSR_ASSIGN_OR_RETURN(sources.fetcher, start_fetcher(settings, metrics));
  }
  if (!settings.media_root.empty()) {
    TSR_ASSIGN_OR_RETURN(sources.root, fetch::MediaRoot::open(settings.media_root));
  }
  if (settings.uploads) {
    sources.uploads = std::make_unique<uploads::UploadStore>(settings.upload_limits, clock);
  }
  return sources;
}

Result<runtime::LoadedModel> load_model(const cli::Settings& settings, metrics::Metrics& metrics) {
  runtime::remote::EngineProcessOptions options;
  options.program = engine_program();
  options.environment = engine_environment();
  options.load.model_path = absolute_path(settings.model_path);
  options.load.mmproj_path = absolute_path(settings.mmproj_path);
  options.load.context_length = settings.context_length;
  options.load.n_sequences_max = settings.n_sequences + settings.n_kept_prefixes;
  options.load.n_kv_cells = settings.n_kv_cells;
  options.load.n_threads = settings.n_threads;
  options.on_death = [&metrics](sandbox::ExitStatus) { metrics.record_engine_death(); };
  TSR_ASSIGN_OR_RETURN(auto process, runtime::remote::EngineProcess::start(std::move(options)));
  return runtime::remote::attach(std::move(process));
}

Result<std::optional<cache::WeightsFile>> open_weights(const cli::Settings& settings) {
  if (settings.cache_dir.empty() || settings.mmproj_path.empty()) {
    return std::optional<cache::WeightsFile>();
  }
  TSR_ASSIGN_OR_RETURN(cache::WeightsFile weights, cache::WeightsFile::open(settings.mmproj_path));
  return std::optional(std::move(weights));
}

Result<FeatureDisk> open_feature_disk(const cli::Settings& settings,
                                      const std::optional<cache::WeightsFile>& weights,
                                      const admission::ApiKeys& keys, std::string_view build) {
  FeatureDisk disk;
  if (!weights) return disk;
  TSR_ASSIGN_OR_RETURN(const Digest digest, weights->digest());
  cache::DiskTierOptions options;
  options.folder = settings.cache_dir;
  options.secret_file = settings.cache_secret_file;
  options.bytes_max = settings.cache_dir_bytes;
  options.half = !settings.feature_cache_f32;
  options.tenants = cache::TenantNames(keys.stable_names());
  TSR_ASSIGN_OR_RETURN(disk.tier, cache::DiskTier::open(std::move(options)));
  // The processor's features are part of it: other instructions round differently.
  disk.encoder = runtime_name() + "; ";
  disk.encoder.append(build).append("; mmproj ");
  disk.encoder.append(digest.bytes.begin(), digest.bytes.end());
  return disk;
}

std::unique_ptr<pipeline::Pipeline> start_pipeline(
    const cli::Settings& settings, runtime::LoadedModel model,
    const media::DecoderZygotes& decoders, const MediaSources& sources, const FeatureDisk& disk,
    const admission::ApiKeys& keys, const Clock& clock, metrics::Metrics& metrics) {
  pipeline::PipelineOptions options;
  options.decoder.zygotes = decoders;
  options.limits = settings.limits;
  options.n_media_threads = settings.n_media_threads;
  options.sources = sources_of(sources);
  options.url_bytes_max = settings.remote_limits.request_bytes_max;
  options.n_step_rows = settings.step_rows;
  options.inter_token = std::chrono::milliseconds(settings.itl_slo_ms);
  options.n_step_patches = settings.step_patches;
  options.n_kept_prefixes = settings.n_kept_prefixes;
  options.has_several_tenants = keys.size() > 1;
  options.model_name = settings.model_name;
  options.features = {settings.feature_cache_bytes, !settings.feature_cache_f32};
  options.feature_disk = disk.tier.get();
  options.encoder = disk.encoder;
  options.tenants = cache::TenantNames(keys.stable_names());
  return std::make_unique<pipeline::Pipeline>(std::move(model), options, clock, metrics);
}

metrics::BuildInfo build_info() {
  return {TESSERA_VERSION, runtime_name()};
}

std::string version_text(bool json) {
  const metrics::BuildInfo info = build_info();
  const auto described =
      runtime::remote::EngineProcess::describe(engine_program(), engine_environment());
  const std::string build = described ? *described : described.error().message;
  if (json) {
    return "{\"version\":\"" + info.version + "\",\"runtime\":\"" + info.runtime +
           "\",\"build\":\"" + build + "\"}\n";
  }
  return "tessera " + info.version + "\nruntime: " + info.runtime + "\n" + build + "\n";
}

}  // namespace tessera::app
