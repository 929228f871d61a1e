#include "app/cache_command.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "admission/api_keys.h"
#include "api/admin_client.h"
#include "api/cache_json.h"
#include "app/wiring.h"
#include "cache/closed_tier.h"
#include "cli/cache_text.h"

namespace tessera::app {
namespace {

using cli::CacheVerb;
using cli::ExitCode;

constexpr std::string_view kCachePath = "/admin/cache";

/// A running server, or the folder of one that has stopped.
class Cache {
 public:
  virtual ~Cache() = default;
  virtual Result<cache::CacheReport> report() = 0;
  virtual Result<cache::ForgottenEntries> forget(const std::optional<std::string>& tenant) = 0;
  virtual bool is_folder() const = 0;
};

class ServerCache final : public Cache {
 public:
  ServerCache(api::AdminAddress address, std::string key)
      : address_(std::move(address)), key_(std::move(key)) {}

  Result<cache::CacheReport> report() override {
    TSR_ASSIGN_OR_RETURN(const std::string json,
                         api::call_admin(address_, "GET", kCachePath, key_));
    return api::parse_cache_report(json);
  }
  Result<cache::ForgottenEntries> forget(const std::optional<std::string>& tenant) override {
    const std::string whom =
        tenant ? "?tenant=" + api::percent_encode(*tenant) : std::string("?all=true");
    TSR_ASSIGN_OR_RETURN(const std::string json,
                         api::call_admin(address_, "DELETE", std::string(kCachePath) + whom, key_));
    return api::parse_forgotten(json);
  }
  bool is_folder() const override { return false; }

 private:
  const api::AdminAddress address_;
  const std::string key_;
};

class FolderCache final : public Cache {
 public:
  explicit FolderCache(std::unique_ptr<cache::ClosedTier> tier) : tier_(std::move(tier)) {}

  Result<cache::CacheReport> report() override { return tier_->report(); }
  Result<cache::ForgottenEntries> forget(const std::optional<std::string>& tenant) override {
    return tenant ? tier_->forget(*tenant) : tier_->forget_all();
  }
  bool is_folder() const override { return true; }

 private:
  const std::unique_ptr<cache::ClosedTier> tier_;
};

/// The environment first: a secret manager puts it there without a file.
Result<std::string> admin_key(const cli::Settings& settings) {
  const auto variables = cli::tessera_environment(environ);
  const auto found = variables.find(std::string(kAdminKeyVariable));
  if (found != variables.end() && !found->second.empty()) return found->second;
  if (!settings.admin_key_file.empty()) {
    return admission::ApiKeys::load_first_key(settings.admin_key_file, "admin key file");
  }
  return make_error(
      ErrorCode::kInvalidArgument, "bad_command_line",
      "no admin key: say --admin-key-file FILE, or put it into " + std::string(kAdminKeyVariable));
}

/// Where a server with these settings can be reached from its own machine.
std::string url_of(const cli::Settings& settings) {
  std::string host = settings.host;
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "::") host = "::1";
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return "http://" + host + ":" + std::to_string(settings.port);
}

Result<std::unique_ptr<Cache>> open_server(const cli::CacheOptions& options,
                                           const cli::Settings& settings) {
  TSR_ASSIGN_OR_RETURN(api::AdminAddress address,
                       api::parse_admin_url(options.url.value_or(url_of(settings))));
  TSR_ASSIGN_OR_RETURN(std::string key, admin_key(settings));
  return std::unique_ptr<Cache>(std::make_unique<ServerCache>(std::move(address), std::move(key)));
}

Result<std::unique_ptr<Cache>> open_folder(const cli::Settings& settings) {
  admission::ApiKeys keys;
  if (!settings.api_key_file.empty()) {
    TSR_ASSIGN_OR_RETURN(keys, admission::ApiKeys::load(settings.api_key_file));
  }
  cache::DiskTierOptions tier;
  tier.folder = settings.cache_dir;
  tier.secret_file = settings.cache_secret_file;
  tier.tenants = cache::TenantNames(keys.stable_names());
  auto closed = cache::ClosedTier::open(std::move(tier));
  if (closed) return std::unique_ptr<Cache>(std::make_unique<FolderCache>(*std::move(closed)));
  Error error = closed.error();
  if (error.reason == "cache_dir_in_use") {
    error.message += "; ask the server that has it, without --cache-dir";
  }
  return error;
}

Result<std::unique_ptr<Cache>> open_cache(const cli::CacheOptions& options) {
  TSR_ASSIGN_OR_RETURN(const cli::LoadedSettings settings, read_settings(options.settings));
  return options.settings.values.contains("cache_dir") ? open_folder(settings.values)
                                                       : open_server(options, settings.values);
}

/// What the command prints on success.
Result<std::string> answer_of(const cli::CacheOptions& options, Cache& cache) {
  if (options.verb == CacheVerb::kPurge) {
    TSR_ASSIGN_OR_RETURN(const cache::ForgottenEntries forgotten, cache.forget(options.tenant));
    return options.json ? api::forgotten_json(forgotten) + "\n"
                        : cli::purge_text(forgotten, options.tenant);
  }
  TSR_ASSIGN_OR_RETURN(cache::CacheReport all, cache.report());
  const cache::CacheReport report = cli::of_tenant(std::move(all), options.tenant);
  if (options.json) return api::cache_report_json(report) + "\n";
  // The stats of a tier are nobody's; what one tenant has is a row of the list.
  const bool is_list = options.verb == CacheVerb::kList || options.tenant.has_value();
  return is_list ? cli::cache_list_text(report, cache.is_folder())
                 : cli::cache_stats_text(report, cache.is_folder());
}

}  // namespace

ExitCode run_cache(const cli::CacheOptions& options, const cli::Terminal& terminal) {
  auto cache = open_cache(options);
  if (!cache) return cli::print_startup_error(cache.error(), options.json, terminal);
  const auto answer = answer_of(options, **cache);
  if (!answer) return cli::print_error(answer.error(), options.json, terminal);
  // Names come from a server; a terminal obeys none of them.
  terminal.out << cli::printable(*answer) << std::flush;
  return terminal.out ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace tessera::app
