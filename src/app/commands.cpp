#include "app/commands.h"

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "admission/api_keys.h"
#include "api/http_server.h"
#include "app/cache_command.h"
#include "app/decoders.h"
#include "app/wiring.h"
#include "cli/media_file.h"
#include "cli/plan.h"
#include "cli/simulate.h"
#include "content_log/content_log.h"
#include "core/log.h"

namespace tessera::app {
namespace {

using cli::ExitCode;

/// What running answers get to finish after the first signal. With the HTTP server's flush and
/// kStopDeadline below two seconds, which is what service managers' users expect of a stop.
constexpr std::chrono::milliseconds kStopGrace{700};

/// What the stages get to stop after the last answer. One node of a large image's encode cannot be
/// interrupted and may take longer.
constexpr std::chrono::milliseconds kStopDeadline{500};

/// Ends the process when stopping takes too long. Nothing is lost: every answer has ended, lines of
/// the content log have gone to the disk unless it stands still, and the disk tier of the feature
/// cache may be stopped at any moment.
class StopDeadline {
 public:
  StopDeadline() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const bool stopped =
        never_.wait_for(lock, stop, kStopDeadline, [&stop] { return stop.stop_requested(); });
    if (!stopped && !stop.stop_requested()) std::_Exit(static_cast<int>(ExitCode::kOk));
  }

  std::mutex mutex_;
  std::condition_variable_any never_;
  std::jthread thread_;
};

/// Everything a command works with; built from its flags.
struct Session {
  SteadyClock clock;
  cli::LoadedSettings settings;
  std::unique_ptr<metrics::Metrics> metrics;
  Decoders decoders;
  MediaSources sources;
  admission::ApiKeys keys;
  admission::ApiKeys admin_keys;
  FeatureDisk disk;
  std::unique_ptr<pipeline::Pipeline> pipeline;
  std::unique_ptr<content_log::ContentLog> content_log;  // null = none is written
};

Result<admission::ApiKeys> load_keys(const cli::Settings& settings) {
  if (settings.api_key_file.empty()) return admission::ApiKeys();
  return admission::ApiKeys::load(settings.api_key_file);
}

Result<admission::ApiKeys> load_admin_keys(const cli::Settings& settings,
                                           const admission::ApiKeys& keys) {
  if (settings.admin_key_file.empty()) return admission::ApiKeys();
  TSR_ASSIGN_OR_RETURN(auto admin_keys,
                       admission::ApiKeys::load(settings.admin_key_file, "admin key file"));
  if (!admin_keys.shares_key_with(keys)) return admin_keys;
  return make_error(ErrorCode::kInvalidArgument, "invalid_key_file",
                    "a key of the admin key file is in the API key file as well");
}

/// A server has clients with keys, other sources of media than files of the command line, and
/// features that outlive it. A command runs beside a server that has the disk tier.
enum class SessionOf { kCommand, kServer };

Result<std::unique_ptr<Session>> open_session(const cli::SettingFlags& flags, SessionOf whose) {
  auto session = std::make_unique<Session>();
  TSR_ASSIGN_OR_RETURN(session->settings, read_settings(flags));
  session->metrics = std::make_unique<metrics::Metrics>(build_info());
  const cli::Settings& settings = session->settings.values;
  TSR_ASSIGN_OR_RETURN(StartingDecoders decoders, begin_decoders(settings));
  std::optional<cache::WeightsFile> weights;
  if (whose == SessionOf::kServer) {
    TSR_ASSIGN_OR_RETURN(session->keys, load_keys(settings));
    TSR_ASSIGN_OR_RETURN(session->admin_keys, load_admin_keys(settings, session->keys));
    TSR_ASSIGN_OR_RETURN(session->sources,
                         open_media_sources(settings, session->clock, *session->metrics));
    TSR_ASSIGN_OR_RETURN(weights, open_weights(settings));
  }
  TSR_ASSIGN_OR_RETURN(runtime::LoadedModel model, load_model(settings, *session->metrics));
  TSR_ASSIGN_OR_RETURN(session->disk,
                       open_feature_disk(settings, weights, session->keys, model.build));
  TSR_ASSIGN_OR_RETURN(session->decoders,
                       finish_decoders(std::move(decoders), session->clock, *session->metrics));
  session->pipeline =
      start_pipeline(settings, std::move(model), session->decoders.zygotes(), session->sources,
                     session->disk, session->keys, session->clock, *session->metrics);
  return session;
}

ExitCode run(const cli::AskOptions& options, SignalWatcher& signals,
             const cli::Terminal& terminal) {
  auto session = open_session(options.settings, SessionOf::kCommand);
  if (!session) return cli::print_startup_error(session.error(), options.json, terminal);
  Session& s = **session;
  Trace trace(s.clock.now());
  auto media =
      cli::load_media_files(options.image_paths, options.images.n_frames, s.settings.values.limits);
  if (!media) return cli::print_error(media.error(), options.json, terminal);
  return cli::run_ask(options, {*std::move(media), std::move(trace)}, *s.pipeline, terminal,
                      s.clock, signals.token());
}

ExitCode run(const cli::PlanOptions& options, SignalWatcher& signals,
             const cli::Terminal& terminal) {
  auto session = open_session(options.settings, SessionOf::kCommand);
  if (!session) return cli::print_startup_error(session.error(), options.json, terminal);
  Session& s = **session;
  auto media =
      cli::load_media_files(options.image_paths, options.images.n_frames, s.settings.values.limits);
  if (!media) return cli::print_error(media.error(), options.json, terminal);
  return cli::run_plan(options, *std::move(media), *s.pipeline, terminal, s.clock, signals.token());
}

api::HttpOptions http_options(Session& session, std::string_view sandbox_level) {
  const cli::Settings& settings = session.settings.values;
  const MediaSources& sources = session.sources;
  api::HttpOptions http;
  http.address = settings.host;
  http.port = static_cast<std::uint16_t>(settings.port);
  http.n_threads = settings.n_http_threads;
  http.limits = settings.limits;
  http.sandbox_level = sandbox_level;
  http.keys = std::move(session.keys);
  http.admin_keys = std::move(session.admin_keys);
  // Checked when the settings were loaded.
  if (auto rules = admission::parse_cache_rules(settings.cache_rules)) http.cache_rules = *rules;
  http.media_sources = {sources.fetcher != nullptr, sources.root.has_value(),
                        sources.uploads != nullptr};
  http.uploads = sources.uploads.get();
  http.content_log = session.content_log.get();
  return http;
}

void print_level(sandbox::SandboxLevel level, const cli::Terminal& terminal) {
  const bool safe = level != sandbox::SandboxLevel::kC;
  terminal.out << "tessera: image decoders at sandbox level " << sandbox::to_string(level)
               << (safe ? "" : ": not confined, as unsafe_decoders allows") << std::endl;
}

/// Whoever starts the server, and whoever reads its log, shall not overlook it.
void announce_content_log(const cli::Settings& settings, const cli::Terminal& terminal) {
  terminal.out << "tessera: WARNING: CONTENT IS LOGGED: what users send and what they are answered "
                  "goes to "
               << settings.content_log << std::endl;
  log(LogLevel::kWarning, "content_is_logged");
}

/// Empty when the settings do not ask for it.
Result<std::unique_ptr<content_log::ContentLog>> open_content_log(const cli::Settings& settings,
                                                                  metrics::Metrics& metrics) {
  if (settings.content_log.empty()) return std::unique_ptr<content_log::ContentLog>();
  return content_log::ContentLog::open(
      {settings.content_log, [&metrics] { metrics.record_content_log_loss(); }});
}

ExitCode serve(Session& session, SignalWatcher& signals, const cli::Terminal& terminal) {
  const cli::Settings& settings = session.settings.values;
  auto content_log = open_content_log(settings, *session.metrics);
  if (!content_log) return cli::print_startup_error(content_log.error(), false, terminal);
  session.content_log = *std::move(content_log);
  const std::string_view level = sandbox::to_string(session.decoders.level());
  pipeline::Pipeline& pipeline = *session.pipeline;
  metrics::Metrics& metrics = *session.metrics;
  api::HttpServer server(
      http_options(session, level), pipeline,
      [&pipeline, &metrics, uploads = session.sources.uploads.get()] {
        pipeline.publish_gauges();
        if (uploads != nullptr) metrics.set_upload_bytes(uploads->total_bytes());
        return metrics.expose();
      },
      session.clock);
  const auto port = server.start();
  if (!port) return cli::print_startup_error(port.error(), false, terminal);
  terminal.out << "tessera: " << pipeline.model().name << " at http://" << settings.host << ":"
               << *port << "/v1" << std::endl;
  print_level(session.decoders.level(), terminal);
  if (session.content_log != nullptr) announce_content_log(settings, terminal);
  signals.wait();
  terminal.out << "tessera: stopping" << std::endl;
  server.stop(kStopGrace);
  const StopDeadline deadline;
  session.content_log.reset();  // writes what is queued
  pipeline.shutdown();
  return ExitCode::kOk;
}

ExitCode run(const cli::ServeOptions& options, SignalWatcher& signals,
             const cli::Terminal& terminal) {
  if (options.print_config) {
    const auto settings = read_settings(options.settings);
    if (!settings) return cli::print_startup_error(settings.error(), false, terminal);
    terminal.out << cli::print_config(*settings);
    return ExitCode::kOk;
  }
  auto session = open_session(options.settings, SessionOf::kServer);
  if (!session) return cli::print_startup_error(session.error(), false, terminal);
  set_log_level((*session)->settings.values.log_level);
  set_log_format((*session)->settings.values.log_format);
  return serve(**session, signals, terminal);
}

ExitCode run(const cli::CacheOptions& options, SignalWatcher& /*signals*/,
             const cli::Terminal& terminal) {
  return run_cache(options, terminal);
}

ExitCode run(const cli::SimulateOptions& options, SignalWatcher& /*signals*/,
             const cli::Terminal& terminal) {
  return cli::run_simulate(options, terminal);
}

ExitCode run(const cli::VersionOptions& options, SignalWatcher& /*signals*/,
             const cli::Terminal& terminal) {
  terminal.out << version_text(options.json);
  return ExitCode::kOk;
}

ExitCode run(const cli::HelpOptions& options, SignalWatcher& /*signals*/,
             const cli::Terminal& terminal) {
  terminal.out << options.text;
  return ExitCode::kOk;
}

}  // namespace

ExitCode run_command(const cli::CommandLine& command, SignalWatcher& signals,
                     const cli::Terminal& terminal) {
  return std::visit(
      [&](const auto& options) {
        const ExitCode code = run(options, signals, terminal);
        terminal.out.flush();
        return code;
      },
      command);
}

}  // namespace tessera::app
