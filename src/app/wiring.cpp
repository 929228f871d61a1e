#include "app/wiring.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#ifdef TESSERA_RUNTIME_LLAMA
#include "runtime/llama/llama_runtime.h"
#else
#include "runtime/fake/fake_runtime.h"
#endif

namespace tessera::app {
namespace {

namespace fs = std::filesystem;

fs::path program_folder() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  return failed ? fs::path(".") : program.parent_path();
}

/// The bundled model: beside an installed program, else in the source tree it was built from.
cli::BundledModel bundled_model() {
  fs::path folder = program_folder() / ".." / "share" / "tessera" / "models" / "tessera-tiny";
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) folder = fs::path(TESSERA_MODELS_DIR) / "tessera-tiny";
  return {(folder / "tessera-tiny-f16.gguf").string(),
          (folder / "mmproj-tessera-tiny-f16.gguf").string()};
}

#ifdef TESSERA_RUNTIME_LLAMA
constexpr const char* kRuntime = "llama";

Result<runtime::LoadedModel> load_model(const cli::Settings& settings) {
  runtime::LoadOptions options;
  options.model_path = settings.model_path;
  options.mmproj_path = settings.mmproj_path;
  options.context_length = settings.context_length;
  options.n_sequences_max = settings.n_sequences;
  options.n_kv_cells = settings.n_kv_cells;
  options.n_threads = settings.n_threads;
  return runtime::llama::load(options);
}

std::string runtime_description() {
  return runtime::llama::describe_build();
}
#else
constexpr const char* kRuntime = "fake";

Result<runtime::LoadedModel> load_model(const cli::Settings& settings) {
  runtime::fake::FakeOptions options;
  options.n_sequences_max = settings.n_sequences;
  options.n_kv_cells = settings.n_kv_cells;
  if (settings.context_length > 0) options.context_length = settings.context_length;
  return runtime::fake::load(options);
}

std::string runtime_description() {
  return "deterministic twin without weights";
}
#endif

Result<std::string> media_worker_path(const cli::Settings& settings) {
  const fs::path path = settings.media_worker_path.empty()
                            ? program_folder() / "tessera-media-worker"
                            : fs::path(settings.media_worker_path);
  if (::access(path.c_str(), X_OK) != 0) {
    return make_error(ErrorCode::kNotFound, "media_worker_not_found",
                      "no media worker program at " + path.string());
  }
  return path.string();
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

Result<std::unique_ptr<sandbox::Zygote>> start_media_worker(const cli::Settings& settings,
                                                            const Clock& clock,
                                                            metrics::Metrics& metrics) {
  TSR_ASSIGN_OR_RETURN(std::string path, media_worker_path(settings));
  TSR_ASSIGN_OR_RETURN(auto zygote,
                       sandbox::Zygote::start({std::move(path), settings.unsafe_decoders}, clock));
  metrics.set_sandbox_level(sandbox::to_string(zygote->level()));
  return zygote;
}

Result<std::unique_ptr<pipeline::Pipeline>> start_pipeline(const cli::Settings& settings,
                                                           sandbox::Zygote& media_worker,
                                                           const Clock& clock,
                                                           metrics::Metrics& metrics) {
  pipeline::PipelineOptions options;
  options.decoder.zygote = &media_worker;
  TSR_ASSIGN_OR_RETURN(runtime::LoadedModel loaded, load_model(settings));
  options.limits = settings.limits;
  options.n_media_threads = settings.n_media_threads;
  options.n_token_rows = settings.step_token_rows;
  options.n_visual_rows = settings.step_visual_rows;
  options.model_name = settings.model_name;
  return std::make_unique<pipeline::Pipeline>(std::move(loaded), options, clock, metrics);
}

metrics::BuildInfo build_info() {
  return {TESSERA_VERSION, kRuntime};
}

std::string version_text(bool json) {
  const metrics::BuildInfo build = build_info();
  if (json) {
    return "{\"version\":\"" + build.version + "\",\"runtime\":\"" + build.runtime +
           "\",\"build\":\"" + runtime_description() + "\"}\n";
  }
  return "tessera " + build.version + "\nruntime: " + build.runtime + "\n" + runtime_description() +
         "\n";
}

}  // namespace tessera::app
